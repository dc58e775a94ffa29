package hindmost.hadoop;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeReport;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocol;

/**
 * The daemon that keeps reserves. Every period it reads the utilisation of each node's primary tenant, from files or
 * from the reports of node managers, and sets the capacity of each node at the resource manager. Unknown utilisation
 * counts as full: the node gets no batch work.
 */
public final class KeeperMain {
  private final ReserveKeeper keeper;
  private final YarnClient client;
  private final NodeSizes sizes;
  /** Pattern of the files; null if the reports of node managers count. */
  private final String pattern;

  private KeeperMain(Configuration conf, YarnClient client) throws IOException {
    this.client = client;
    keeper = new ReserveKeeper(ClientRMProxy.createRMProxy(conf, ResourceManagerAdministrationProtocol.class),
        conf.getDouble(Keys.RESERVE, Keys.RESERVE_DEFAULT), conf.getInt(Keys.GRACE, 0));
    sizes = new NodeSizes(Path.of(conf.get(Keys.KEEPER_FILE, conf.get("hadoop.tmp.dir") + "/hindmost-keeper.nodes")));
    String source = conf.getTrimmed(Keys.KEEPER_SOURCE, "files");
    if (!source.equals("files") && !source.equals("heartbeats")) {
      throw new IOException(Keys.KEEPER_SOURCE + " is " + source + ", but must be files or heartbeats");
    }
    pattern = source.equals("heartbeats") ? null : conf.getTrimmed(Keys.UTILISATION_FILE, "");
    if (pattern != null && pattern.isEmpty()) {
      throw new IOException(
          Keys.UTILISATION_FILE + " is not set: name each node's file of utilisation, such as /run/load/%h");
    }
  }

  public static void main(String[] arguments) {
    Configuration conf = new YarnConfiguration();
    // A restarted resource manager has whole nodes until the next update, and stock would reconnect after 30 s.
    conf.setInt("yarn.resourcemanager.connect.retry-interval.ms", conf.getInt(Keys.KEEPER_PERIOD, 1000));
    try (YarnClient client = YarnClient.createYarnClient()) {
      client.init(conf);
      client.start();
      KeeperMain keeper = new KeeperMain(conf, client);
      for (;;) {
        try {
          keeper.update();
        } catch (IOException | YarnException error) {
          System.err.println("hindmost: reserves were not kept in this period: " + error);
        }
        Thread.sleep(conf.getInt(Keys.KEEPER_PERIOD, 1000));
      }
    } catch (Throwable failure) {
      System.err.println("hindmost: the keeper of reserves stops: " + failure);
      Runtime.getRuntime().halt(1);
    }
  }

  private void update() throws IOException, YarnException {
    Map<NodeId, Resource> left = new HashMap<>();
    for (NodeReport node : client.getNodeReports(NodeState.RUNNING)) {
      Resource whole = sizes.whole(node.getNodeId(), node.getCapability());
      Utilisation used = pattern == null ? PrimaryTenantCalculator.reported(node.getNodeUtilization(), whole)
          : Utilisation.readOrAll(pattern, node.getNodeId().getHost());
      left.put(node.getNodeId(), keeper.left(whole, used.cores * whole.getVirtualCores(), used.megabytes));
      sizes.set(node.getNodeId(), whole, left.get(node.getNodeId()));
    }
    try {
      sizes.write();
    } catch (IOException error) { // the reserve matters more than the next keeper
      System.err.println("hindmost: the sizes of nodes cannot be written: " + error);
    }
    keeper.keep(left);
  }
}
