package hindmost.hadoop;

import java.io.IOException;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.NodeReport;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocol;

/**
 * The daemon that keeps reserves: every period it looks at the utilisation of each node's primary tenant, in files or in
 * what node managers report, and tells the resource manager what is left. One that is not known counts as all of the
 * node: no batch work there.
 */
public final class KeeperMain {
  private final ReserveKeeper keeper;
  private final YarnClient client;
  private final Resource whole;
  /** Of files; null: what node managers report counts. */
  private final String pattern;

  private KeeperMain(Configuration conf, YarnClient client) throws IOException {
    this.client = client;
    keeper = new ReserveKeeper(ClientRMProxy.createRMProxy(conf, ResourceManagerAdministrationProtocol.class),
        conf.getDouble(Keys.RESERVE, Keys.RESERVE_DEFAULT), conf.getInt(Keys.GRACE, 0));
    // A node that was shrunk reports what is left of it: what it is comes from its settings.
    whole = Resource.newInstance(conf.getInt("yarn.nodemanager.resource.memory-mb", 8192),
        conf.getInt("yarn.nodemanager.resource.cpu-vcores", 8));
    String source = conf.getTrimmed(Keys.KEEPER_SOURCE, "files");
    if (!source.equals("files") && !source.equals("heartbeats")) {
      throw new IOException(Keys.KEEPER_SOURCE + " is " + source + ": it may be files or heartbeats");
    }
    pattern = source.equals("heartbeats") ? null : conf.getTrimmed(Keys.UTILISATION_FILE, "");
    if (pattern != null && pattern.isEmpty()) {
      throw new IOException(Keys.UTILISATION_FILE + " is not set: where is each node's utilisation, like /run/load/%h?");
    }
  }

  public static void main(String[] arguments) {
    Configuration conf = new YarnConfiguration();
    // A resource manager that starts anew has whole nodes until it is told: stock would ask again after 30 s.
    conf.setInt("yarn.resourcemanager.connect.retry-interval.ms", conf.getInt(Keys.KEEPER_PERIOD, 1000));
    try (YarnClient client = YarnClient.createYarnClient()) {
      client.init(conf);
      client.start();
      KeeperMain keeper = new KeeperMain(conf, client);
      for (;;) {
        try {
          keeper.round();
        } catch (IOException | YarnException error) {
          System.err.println("hindmost: reserves were not kept this time: " + error);
        }
        Thread.sleep(conf.getInt(Keys.KEEPER_PERIOD, 1000));
      }
    } catch (Throwable failure) {
      System.err.println("hindmost: no reserve is kept any more: " + failure);
      Runtime.getRuntime().halt(1);
    }
  }

  private void round() throws IOException, YarnException {
    for (NodeReport node : client.getNodeReports(NodeState.RUNNING)) {
      Utilisation used = pattern == null ? PrimaryTenantCalculator.reported(node.getNodeUtilization(), whole)
          : Utilisation.orAll(Path.of(pattern.replace("%h", node.getNodeId().getHost())));
      keeper.keep(node.getNodeId(), whole, used.cores * whole.getVirtualCores(), used.megabytes);
    }
  }
}
