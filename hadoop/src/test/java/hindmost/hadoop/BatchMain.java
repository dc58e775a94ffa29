package hindmost.hadoop;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Batch work without an end: BatchMain CONTAINERS COMMAND. It runs the command in up to CONTAINERS containers of one
 * core, and requests each killed container again. It prints a line "RUNNING KILLED" at every change.
 */
public final class BatchMain {
  private static final AMRMClient.ContainerRequest TASK =
      new AMRMClient.ContainerRequest(Resource.newInstance(256, 1), null, null, Priority.newInstance(1));

  public static void main(String[] arguments) {
    Check.main("batch work", () -> run(Integer.parseInt(arguments[0]), arguments[1]));
  }

  private static void run(int containers, String command) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    YarnClient client = YarnClient.createYarnClient();
    client.init(conf);
    client.start();
    AMRMClient<AMRMClient.ContainerRequest> master = UnmanagedMaster.register(client);
    NMClient starter = NMClient.createNMClient();
    starter.init(conf);
    starter.start();
    Set<ContainerId> running = new HashSet<>();
    int killed = 0;
    for (int at = 0; at < containers; at++) {
      master.addContainerRequest(TASK);
    }
    for (;;) {
      AllocateResponse response = master.allocate(0.1f);
      for (Container one : response.getAllocatedContainers()) {
        master.removeContainerRequest(TASK);
        starter.startContainer(one,
            ContainerLaunchContext.newInstance(Map.of(), Map.of(), List.of(command), null, null, null));
        running.add(one.getId());
      }
      for (ContainerStatus one : response.getCompletedContainersStatuses()) {
        if (running.remove(one.getContainerId())) {
          killed++;
          master.addContainerRequest(TASK);
        }
      }
      if (!response.getAllocatedContainers().isEmpty() || !response.getCompletedContainersStatuses().isEmpty()) {
        System.out.println(running.size() + " " + killed);
      }
      Thread.sleep(100);
    }
  }
}
