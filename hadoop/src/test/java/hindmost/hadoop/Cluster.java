package hindmost.hadoop;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.DatagramSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.IntStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManager;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeDescriptor;
import org.apache.hadoop.hdfs.server.blockmanagement.HarvestPlacementPolicy;

/**
 * A name node and data nodes in one JVM, with the plug-ins. FOLDER has tenants.tsv, each host's load, and FOLDER/conf.
 * The class path has FOLDER/conf, since a reconfigured name node reads its files again.
 */
final class Cluster {
  static final int REPLICAS = 3;

  final int nodes;
  final Path tenants;
  final int boardPort;
  final MiniDFSCluster mini;
  final DistributedFileSystem hdfs;
  private final Path folder;

  Cluster(Path folder, int nodes) throws IOException {
    this.folder = folder;
    this.nodes = nodes;
    tenants = folder.resolve("tenants.tsv");
    boardPort = freePort();
    String[] hosts = IntStream.range(0, nodes).mapToObj(TestTenants::host).toArray(String[]::new);
    String[] racks = IntStream.range(0, nodes).mapToObj(at -> "/rack" + at % 4).toArray(String[]::new);
    mini = new MiniDFSCluster.Builder(settings(), folder.resolve("cluster").toFile()).numDataNodes(nodes).hosts(hosts)
        .racks(racks).build();
    mini.waitActive();
    hdfs = mini.getFileSystem();
  }

  private Configuration settings() {
    Configuration conf = new Configuration();
    conf.set("hadoop.tmp.dir", folder.resolve("tmp").toString());
    conf.set("dfs.block.replicator.classname", HarvestPlacementPolicy.class.getName());
    conf.set("dfs.net.topology.impl", BusyTopology.class.getName());
    conf.set("dfs.datanode.fsdataset.factory", BusyDatasetFactory.class.getName());
    conf.set("dfs.namenode.plugins", NameNodePlugin.class.getName());
    // A copy that a busy node denies is requested again after this many seconds; stock waits for 300.
    conf.setInt("dfs.namenode.reconstruction.pending.timeout-sec", 10);
    conf.set(Keys.TENANTS_FILE, tenants.toString());
    conf.setInt(Keys.TENANTS_PERIOD, 200);
    conf.set(Keys.UTILISATION_FILE, folder.resolve("%h.load").toString());
    conf.setInt(Keys.BUSY_PERIOD, 100);
    conf.setInt(Keys.BOARD_PORT, boardPort);
    conf.set(Keys.BOARD_ADDRESSES, "127.0.0.1:" + boardPort);
    conf.setInt(Keys.BOARD_STALE, 5000);
    // No waiting: the load of loopback nodes means nothing, and clients retry soon.
    conf.setBoolean("dfs.namenode.redundancy.considerLoad", false);
    conf.setInt("dfs.client.retry.window.base", 200);
    conf.setInt("dfs.heartbeat.interval", 1);
    conf.setInt("dfs.namenode.heartbeat.recheck-interval", 1000);
    conf.setInt("dfs.namenode.redundancy.interval.seconds", 1);
    conf.setInt("dfs.namenode.decommission.interval", 1);
    conf.setInt("dfs.replication", REPLICAS);
    conf.setLong("dfs.namenode.fs-limits.min-block-size", 1024);
    return conf;
  }

  private static int freePort() throws IOException {
    try (DatagramSocket socket = new DatagramSocket()) {
      return socket.getLocalPort();
    }
  }

  BlockManager manager() {
    return mini.getNamesystem().getBlockManager();
  }

  /** Write 100 bytes to a new file. */
  void write(org.apache.hadoop.fs.Path path, int replicas) throws IOException {
    try (FSDataOutputStream out = hdfs.create(path, true, 4096, (short) replicas, 1024 * 1024)) {
      out.write(new byte[100]);
    }
  }

  DatanodeInfo[] locations(org.apache.hadoop.fs.Path path) throws IOException {
    return hdfs.getClient().getLocatedBlocks(path.toString(), 0).get(0).getLocations();
  }

  static int number(DatanodeInfo node) {
    return Integer.parseInt(node.getHostName().replaceAll("\\D", ""));
  }

  DatanodeDescriptor descriptor(int host) {
    return manager().getDatanodeManager().getDatanodes().stream()
        .filter(node -> node.getHostName().equals(TestTenants.host(host))).findFirst().orElse(null);
  }

  /** Return the number of a host in the mini cluster: restarts change it. */
  int index(int host) {
    for (int at = 0; at < mini.getDataNodes().size(); at++) {
      if (mini.getDataNodes().get(at).getDatanodeId().getHostName().equals(TestTenants.host(host))) {
        return at;
      }
    }
    throw new AssertionError("no data node is " + host);
  }

  /** Delete all data of a data node and restart it: the name node sees another node with the same name. */
  void reimage(int host) throws IOException {
    MiniDFSCluster.DataNodeProperties stopped = mini.stopDataNode(index(host));
    for (String at : stopped.getDatanode().getConf().getTrimmedStrings("dfs.datanode.data.dir")) {
      FileUtil.fullyDeleteContents(new File(at.replaceFirst("^(\\[.*])?file:", "")));
    }
    Check.that(mini.restartDataNode(stopped, true), "the data node restarts");
  }

  /** Whether every block has all its replicas, and no copy is in progress. */
  boolean settled() {
    return manager().getLowRedundancyBlocksCount() == 0 && manager().getPendingReconstructionBlocksCount() == 0;
  }

  void setLoad(String host, String utilisation) throws IOException {
    TestTenants.write(folder.resolve(host + ".load"), utilisation);
  }

  /** Set the policy at run time, as an operator who edits the name node's file; null means stock's. */
  void setPolicy(Class<?> policy) throws Exception {
    String key = "dfs.block.replicator.classname";
    Configuration conf = new Configuration(false);
    conf.set(Keys.TENANTS_FILE, tenants.toString());
    if (policy != null) {
      conf.set(key, policy.getName());
    }
    Path path = folder.resolve("conf/hdfs-site.xml");
    Files.createDirectories(path.getParent());
    try (OutputStream out = Files.newOutputStream(path)) {
      conf.writeXml(out);
    }
    mini.getNameNode().reconfigureProperty(key, policy == null ? null : policy.getName());
  }
}
