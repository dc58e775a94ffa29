package hindmost.hadoop;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeReport;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;
import org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocol;

/** Tests of the reserve and the order of nodes on a real resource manager with three node managers. */
public final class YarnMini {
  private static final String SORTING = "yarn.scheduler.capacity.multi-node-sorting.policy";
  private static final Resource TASK = Resource.newInstance(256, 1);
  private AMRMClient<AMRMClient.ContainerRequest> batch;
  private final Map<ContainerId, NodeId> allocated = new TreeMap<>();
  private final List<ContainerId> completed = new ArrayList<>();

  public static void main(String[] arguments) {
    Check.main("YARN on 3 node managers", () -> new YarnMini().run());
  }

  private void run() throws Exception {
    Configuration conf = new YarnConfiguration();
    conf.set("yarn.resourcemanager.scheduler.class",
        "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler");
    conf.set("yarn.scheduler.capacity.root.queues", "default");
    conf.set("yarn.scheduler.capacity.root.default.capacity", "100");
    conf.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1.0");
    conf.setBoolean("yarn.scheduler.capacity.multi-node-placement-enabled", true);
    conf.setBoolean("yarn.scheduler.capacity.schedule-asynchronously.enable", true);
    conf.set("yarn.scheduler.capacity.multi-node-sorting.policy.names", "harvest");
    conf.set(SORTING, "harvest");
    conf.set(SORTING + ".harvest.class", HarvestNodeOrder.class.getName());
    conf.setInt(SORTING + ".harvest.sorting-interval.ms", 0);
    conf.setInt("yarn.scheduler.minimum-allocation-mb", 128);
    conf.setInt("yarn.nodemanager.resource.memory-mb", 8192);
    conf.setInt("yarn.nodemanager.resource.cpu-vcores", 12);
    conf.set("yarn.scheduler.capacity.resource-calculator",
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator");
    conf.setInt("yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", 200);
    conf.setBoolean("yarn.nodemanager.disk-health-checker.enable", false);
    MiniYARNCluster cluster = new MiniYARNCluster("harvest", 3, 1, 1);
    cluster.init(conf);
    cluster.start();
    Configuration used = cluster.getConfig();
    try (YarnClient client = YarnClient.createYarnClient()) {
      client.init(used);
      client.start();
      Check.await("three nodes", 30, () -> client.getNodeReports(NodeState.RUNNING).size() == 3);
      List<NodeReport> nodes = client.getNodeReports(NodeState.RUNNING);
      ReserveKeeper keeper = new ReserveKeeper(
          ClientRMProxy.createRMProxy(used, ResourceManagerAdministrationProtocol.class), 1.0 / 3, 0);
      Resource whole = nodes.get(0).getCapability();
      // One node's primary tenant uses everything except the reserve: nothing is left there.
      keeper.keep(Map.of(nodes.get(0).getNodeId(), keeper.left(whole, 8, 0), nodes.get(1).getNodeId(),
          keeper.left(whole, 0.3, 100.5), nodes.get(2).getNodeId(), keeper.left(whole, 0, 0)));
      batch = UnmanagedMaster.register(client);
      for (int n = 1; n <= 12; n++) { // not all at once: containers of the same millisecond have no youngest
        int wanted = n;
        requestContainers(1);
        Check.await(wanted + " containers", 30, () -> allocate(wanted));
        Thread.sleep(10);
      }
      Check.that(!allocated.containsValue(nodes.get(0).getNodeId()), "no container on the full node: " + allocated.values());
      Check.that(count(nodes.get(1)) <= 7 && count(nodes.get(2)) <= 8, "the reserve is kept: " + allocated.values());
      System.out.printf("  containers: %d, %d, %d%n", count(nodes.get(0)), count(nodes.get(1)), count(nodes.get(2)));
      checkYoungestDie(keeper, nodes.get(2), whole);
    }
  }

  private int count(NodeReport node) {
    return Collections.frequency(allocated.values(), node.getNodeId());
  }

  private void checkYoungestDie(ReserveKeeper keeper, NodeReport node, Resource whole) throws Exception {
    List<ContainerId> ids = new ArrayList<>();
    allocated.forEach((id, at) -> {
      if (at.equals(node.getNodeId())) {
        ids.add(id);
      }
    });
    int left = ids.size() - 2;
    long started = System.nanoTime();
    keeper.keep(Map.of(node.getNodeId(), keeper.left(whole, 8 - left, 0))); // twelve minus four of the reserve minus these
    Check.await("two kills", 20, () -> allocate(0) && completed.size() >= 2);
    System.out.printf("  the two youngest of %d were killed after %.0f ms%n", ids.size(),
        (System.nanoTime() - started) / 1e6);
    Collections.sort(completed);
    Check.same(completed, ids.subList(left, ids.size()), "killed");
  }

  private void requestContainers(int n) {
    for (int at = 0; at < n; at++) {
      batch.addContainerRequest(new AMRMClient.ContainerRequest(TASK, null, null, Priority.newInstance(1)));
    }
  }

  /**
   * Receive a response of the resource manager; return whether at least some number of containers were allocated so
   * far.
   */
  private boolean allocate(int containers) throws Exception {
    AllocateResponse response = batch.allocate(0.1f);
    for (Container one : response.getAllocatedContainers()) {
      allocated.put(one.getId(), one.getNodeId());
    }
    for (ContainerStatus one : response.getCompletedContainersStatuses()) {
      completed.add(one.getContainerId());
    }
    return allocated.size() >= containers;
  }
}
