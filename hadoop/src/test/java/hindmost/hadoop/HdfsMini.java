package hindmost.hadoop;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.net.DatagramSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import javax.management.Attribute;
import javax.management.ObjectName;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.hdfs.AddBlockFlag;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManager;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeDescriptor;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeStorageInfo;
import org.apache.hadoop.hdfs.server.blockmanagement.HarvestPlacementPolicy;

/**
 * HDFS-H on a real name node and real data nodes: HdfsMini FOLDER [DATA_NODES] [BLOCKS]. FOLDER/conf is on the class path:
 * a name node that is reconfigured reads its files anew.
 */
public final class HdfsMini {
  private static final int REPLICAS = 3;

  private final Path folder;
  private final int nodes;
  private final int blocks;
  private final Path tenants;
  private MiniDFSCluster cluster;
  private DistributedFileSystem hdfs;
  private int sequence;

  private HdfsMini(Path folder, int nodes, int blocks) {
    this.folder = folder;
    this.nodes = nodes;
    this.blocks = blocks;
    tenants = folder.resolve("tenants.tsv");
  }

  public static void main(String[] arguments) {
    int nodes = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 9;
    int blocks = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 60;
    Check.main("HDFS on " + nodes + " data nodes",
        () -> new HdfsMini(Path.of(arguments[0]).toAbsolutePath(), nodes, blocks).run());
  }

  private void run() throws Exception {
    Files.createDirectories(folder);
    World.write(tenants, World.tenants(nodes));
    start();
    stage("blocks are on three tenants each", this::diverse);
    stage("a lost replica is made again on another tenant", this::repair);
    stage("an excess replica goes without costing diversity", this::excess);
    stage("a reimaged node takes replicas again", this::reimage);
    stage("a writer that is busy gets no replica, a calm one the first", this::writer);
    stage("a busy node denies, the next replica answers, nothing is corrupt", this::denial);
    stage("a busy node that throttles answers late, one that observes at once", this::ways);
    stage("a torn file of tenants changes nothing and is counted", this::torn);
    stage("stock and H are switched live", this::live);
  }

  private void stage(String claim, Check.Body body) throws Exception {
    long begun = System.nanoTime();
    body.run();
    System.out.printf("  %s (%.1f s)%n", claim, (System.nanoTime() - begun) / 1e9);
  }

  private void start() throws IOException {
    Configuration conf = new Configuration();
    conf.set("hadoop.tmp.dir", folder.resolve("tmp").toString());
    conf.set("dfs.block.replicator.classname", HarvestPlacementPolicy.class.getName());
    conf.set("dfs.net.topology.impl", BusyTopology.class.getName());
    conf.set("dfs.datanode.fsdataset.factory", BusyDatasetFactory.class.getName());
    conf.set("dfs.namenode.plugins", NameNodePlugin.class.getName());
    // A copy that a busy node denies is asked for again after this many seconds; stock waits for 300.
    conf.setInt("dfs.namenode.reconstruction.pending.timeout-sec", 10);
    conf.set(Keys.TENANTS_FILE, tenants.toString());
    conf.setInt(Keys.TENANTS_PERIOD, 200);
    conf.set(Keys.UTILISATION_FILE, folder.resolve("%h.load").toString());
    conf.setInt(Keys.BUSY_PERIOD, 100);
    int port = freePort();
    conf.setInt(Keys.BOARD_PORT, port);
    conf.set(Keys.BOARD_ADDRESSES, "127.0.0.1:" + port);
    conf.setInt(Keys.BOARD_STALE, 5000);
    // Nobody waits: loads of loopback nodes mean nothing, and clients ask again soon.
    conf.setBoolean("dfs.namenode.redundancy.considerLoad", false);
    conf.setInt("dfs.client.retry.window.base", 200);
    conf.setInt("dfs.heartbeat.interval", 1);
    conf.setInt("dfs.namenode.heartbeat.recheck-interval", 1000);
    conf.setInt("dfs.namenode.redundancy.interval.seconds", 1);
    conf.setInt("dfs.replication", REPLICAS);
    conf.setLong("dfs.namenode.fs-limits.min-block-size", 1024);
    String[] hosts = IntStream.range(0, nodes).mapToObj(World::host).toArray(String[]::new);
    String[] racks = IntStream.range(0, nodes).mapToObj(at -> "/rack" + at % 4).toArray(String[]::new);
    cluster = new MiniDFSCluster.Builder(conf, folder.resolve("cluster").toFile()).numDataNodes(nodes).hosts(hosts)
        .racks(racks).build();
    cluster.waitActive();
    hdfs = cluster.getFileSystem();
  }

  /** What an operator edits before the name node is reconfigured. */
  private void site(String policy) throws IOException {
    Configuration conf = new Configuration(false);
    conf.set(Keys.TENANTS_FILE, tenants.toString());
    if (policy != null) {
      conf.set("dfs.block.replicator.classname", policy);
    }
    Path path = folder.resolve("conf/hdfs-site.xml");
    Files.createDirectories(path.getParent());
    try (OutputStream out = Files.newOutputStream(path)) {
      conf.writeXml(out);
    }
  }

  private static int freePort() throws IOException {
    try (DatagramSocket socket = new DatagramSocket()) {
      return socket.getLocalPort();
    }
  }

  private org.apache.hadoop.fs.Path file(int replicas) throws IOException {
    org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path("/f" + sequence++);
    try (FSDataOutputStream out = hdfs.create(path, true, 4096, (short) replicas, 1024 * 1024)) {
      out.write(new byte[100]);
    }
    return path;
  }

  private DatanodeInfo[] locations(org.apache.hadoop.fs.Path path) throws IOException {
    return hdfs.getClient().getLocatedBlocks(path.toString(), 0).get(0).getLocations();
  }

  private int tenantsOf(DatanodeInfo[] locations) {
    Set<Integer> found = new HashSet<>();
    for (DatanodeInfo node : locations) {
      found.add(World.tenant(number(node)));
    }
    return found.size();
  }

  private static int number(DatanodeInfo node) {
    return Integer.parseInt(node.getHostName().replaceAll("\\D", ""));
  }

  private void await(String claim, Check.Awaited condition) throws Exception {
    Check.await(claim, 80, condition);
  }

  private void diverse() throws Exception {
    for (int at = 0; at < blocks; at++) {
      file(REPLICAS);
    }
    for (int at = 0; at < blocks; at++) {
      org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path("/f" + at);
      // Right after close a block has the replicas that were reported until then.
      await("three replicas of " + path, () -> locations(path).length == REPLICAS);
      Check.same(tenantsOf(locations(path)), REPLICAS, "tenants of " + path);
    }
    Check.same(Metrics.get().getFallbacks(), 0L, "choices left to stock");
    System.out.printf("    %d blocks, by level %s, a choice took %.0f us (median)%n", blocks,
        Arrays.toString(Metrics.get().getPlacedByLevel()), Metrics.get().getMedianChoiceMicros());
  }

  private void repair() throws Exception {
    org.apache.hadoop.fs.Path path = file(REPLICAS);
    await("three replicas", () -> locations(path).length == REPLICAS);
    int lost = number(locations(path)[1]);
    MiniDFSCluster.DataNodeProperties stopped = cluster.stopDataNode(lostIndex(lost));
    cluster.setDataNodeDead(stopped.getDatanode().getDatanodeId());
    await("a new replica", () -> {
      DatanodeInfo[] now = locations(path);
      return now.length == REPLICAS && Arrays.stream(now).noneMatch(node -> number(node) == lost);
    });
    Check.same(tenantsOf(locations(path)), REPLICAS, "tenants after the repair");
    Check.that(cluster.restartDataNode(stopped, true), "the node starts again");
    cluster.waitActive();
  }

  /** Asks the policy as the name node does, for three replicas of a new block. */
  private DatanodeStorageInfo[] choose(DatanodeDescriptor writer) {
    BlockManager manager = cluster.getNamesystem().getBlockManager();
    return manager.getBlockPlacementPolicy().chooseTarget("/asked", REPLICAS, writer, new ArrayList<>(), false, null,
        1024, manager.getStoragePolicy("HOT"), EnumSet.noneOf(AddBlockFlag.class));
  }

  private DatanodeDescriptor descriptor(int host) {
    return cluster.getNamesystem().getBlockManager().getDatanodeManager().getDatanodes().stream()
        .filter(node -> node.getHostName().equals(World.host(host))).findFirst().orElse(null);
  }

  /** The name node puts another descriptor in the place of the one that was there: their number stays the same. */
  private void reimage() throws Exception {
    int host = 1;
    DatanodeDescriptor before = descriptor(host);
    choose(null);
    MiniDFSCluster.DataNodeProperties stopped = cluster.stopDataNode(lostIndex(host));
    for (String at : stopped.getDatanode().getConf().getTrimmedStrings("dfs.datanode.data.dir")) {
      FileUtil.fullyDeleteContents(new File(at.replaceFirst("^(\\[.*])?file:", "")));
    }
    Check.that(cluster.restartDataNode(stopped, true), "the node starts again");
    await("it is there as another", () -> descriptor(host) != null && descriptor(host) != before);
    cluster.waitActive();
    await("it is chosen", () -> {
      List<DatanodeDescriptor> chosen = new ArrayList<>();
      Arrays.stream(choose(null)).forEach(storage -> chosen.add(storage.getDatanodeDescriptor()));
      Check.that(!chosen.contains(before) || before.equals(descriptor(host)), "who is gone gets no replica");
      return chosen.stream().anyMatch(node -> node == descriptor(host));
    });
  }

  private void writer() throws Exception {
    DatanodeDescriptor writer = descriptor(2);
    Check.same(choose(writer)[0].getDatanodeDescriptor(), writer, "the first replica");
    busy(writer, true);
    await("the name node hears it", () -> BusyBoard.get().busy(writer.getHostName()));
    for (int at = 0; at < 20; at++) {
      for (DatanodeStorageInfo storage : choose(writer)) {
        Check.that(storage.getDatanodeDescriptor() != writer, "a busy writer gets a replica");
      }
    }
    busy(writer, false);
    await("the name node hears that, too", () -> !BusyBoard.get().busy(writer.getHostName()));
  }

  /** What a choice takes when it is asked often, by the policy in force, in microseconds: the median. */
  private double warm() {
    double[] took = new double[2000];
    for (int at = 0; at < took.length; at++) {
      long begun = System.nanoTime();
      choose(null);
      took[at] = (System.nanoTime() - begun) / 1e3;
    }
    Arrays.sort(took);
    return took[took.length / 2];
  }

  private int lostIndex(int host) {
    for (int at = 0; at < cluster.getDataNodes().size(); at++) {
      if (cluster.getDataNodes().get(at).getDatanodeId().getHostName().equals(World.host(host))) {
        return at;
      }
    }
    throw new AssertionError("no data node is " + host);
  }

  private void excess() throws Exception {
    int many = Math.min(7, nodes); // more than there are tenants: some share one
    org.apache.hadoop.fs.Path path = file(many);
    await("many replicas", () -> locations(path).length == many);
    hdfs.setReplication(path, (short) REPLICAS);
    await("three are left", () -> locations(path).length == REPLICAS);
    Check.same(tenantsOf(locations(path)), REPLICAS, "tenants of those left");
  }

  /** A replica that is made again is read from a data node, which is denied and counted as any other read. */
  private void settled() throws Exception {
    await("no replica is made again", () -> cluster.getNamesystem().getBlockManager().getLowRedundancyBlocksCount() == 0
        && cluster.getNamesystem().getBlockManager().getPendingReconstructionBlocksCount() == 0);
  }

  private void denial() throws Exception {
    org.apache.hadoop.fs.Path path = file(REPLICAS);
    await("three replicas", () -> locations(path).length == REPLICAS);
    settled();
    DatanodeInfo[] there = locations(path);
    busy(there[0], true);
    BusyMonitor first = BusyMonitor.of(there[0].getHostName(), new Configuration());
    await("the node sees it", first::busy);
    await("the name node hears it", () -> BusyBoard.get().busy(there[0].getHostName()));
    Check.same(locations(path)[REPLICAS - 1].getHostName(), there[0].getHostName(), "the last in the list");
    long denied = Metrics.get().getDeniedReads();
    read(path);
    Check.same(Metrics.get().getDeniedReads(), denied, "denials while another replica is first");
    for (DatanodeInfo node : there) {
      busy(node, true);
    }
    await("all are busy", () -> Arrays.stream(there).allMatch(node ->
        BusyMonitor.of(node.getHostName(), new Configuration()).busy()));
    IOException said = null;
    long begun = System.nanoTime();
    try {
      read(path);
    } catch (IOException error) {
      said = error;
    }
    Check.that(said != null && Metrics.get().getDeniedReads() > denied, "all replicas busy: the read fails: " + said);
    System.out.printf("    refused after %.2f s: %s; staleness %.0f ms median, %.0f ms at most%n",
        (System.nanoTime() - begun) / 1e9, said.getClass().getSimpleName(),
        Metrics.get().getStalenessMedianMillis(), Metrics.get().getStalenessMaxMillis());
    for (DatanodeInfo node : there) {
      busy(node, false);
    }
    await("all are calm", () -> Arrays.stream(there).noneMatch(node ->
        BusyMonitor.of(node.getHostName(), new Configuration()).busy()));
    read(path);
    Check.same(hdfs.getClient().getLocatedBlocks(path.toString(), 0).get(0).isCorrupt(), false, "corrupt");
    Check.same(hdfs.getMissingBlocksCount() + hdfs.getCorruptBlocksCount(), 0L, "missing and corrupt blocks");
  }

  private void ways() throws Exception {
    org.apache.hadoop.fs.Path path = file(REPLICAS);
    await("three replicas", () -> locations(path).length == REPLICAS);
    DatanodeInfo[] there = locations(path);
    for (DatanodeInfo node : there) {
      busy(node, true);
    }
    await("all are busy", () -> Arrays.stream(there).allMatch(node ->
        BusyMonitor.of(node.getHostName(), new Configuration()).busy()));
    ObjectName metrics = new ObjectName("hindmost:type=Harvest");
    double[] took = new double[2];
    for (String way : new String[] {"throttle", "observe"}) {
      ManagementFactory.getPlatformMBeanServer().setAttribute(metrics, new Attribute("Data", way));
      long throttled = Metrics.get().getThrottled();
      long denied = Metrics.get().getDeniedReads();
      long begun = System.nanoTime();
      read(path);
      took[way.equals("throttle") ? 0 : 1] = (System.nanoTime() - begun) / 1e6;
      Check.same(Metrics.get().getThrottled() > throttled, way.equals("throttle"), way + ": an access waits");
      Check.same(Metrics.get().getDeniedReads() > denied, way.equals("observe"), way + ": a denial is counted");
    }
    Check.that(took[0] >= 200, "a throttled read takes its patience, not " + took[0] + " ms");
    System.out.printf("    a read took %.0f ms throttled, %.0f ms observed%n", took[0], took[1]);
    Metrics.get().setData("deny");
    for (DatanodeInfo node : there) {
      busy(node, false);
    }
    await("all are calm", () -> Arrays.stream(there).noneMatch(node -> BusyBoard.get().busy(node.getHostName())));
  }

  private void busy(DatanodeInfo node, boolean is) throws IOException {
    World.write(folder.resolve(node.getHostName() + ".load"), is ? "0.9" : "0.2");
  }

  private void read(org.apache.hadoop.fs.Path path) throws IOException {
    try (FileSystem fresh = FileSystem.newInstance(hdfs.getUri(), hdfs.getConf()); FSDataInputStream in = fresh.open(path)) {
      in.readFully(0, new byte[100]);
    }
  }

  private void torn() throws Exception {
    String whole = World.tenants(nodes);
    for (String text : new String[] {whole.substring(0, whole.length() / 2), whole.replace("\t2.0\t", "\t3.0\t"), ""}) {
      long before = Metrics.get().getTenantsUnreadable();
      World.write(tenants, text);
      await("it is noticed", () -> {
        file(REPLICAS);
        return Metrics.get().getTenantsUnreadable() > before;
      });
    }
    org.apache.hadoop.fs.Path path = file(REPLICAS);
    await("three replicas", () -> locations(path).length == REPLICAS);
    Check.same(tenantsOf(locations(path)), REPLICAS, "tenants by the last good file");
    World.write(tenants, whole);
  }

  private void live() throws Exception {
    String key = "dfs.block.replicator.classname";
    site(null);
    cluster.getNameNode().reconfigureProperty(key, null);
    long choices = Metrics.get().getChoices();
    file(REPLICAS);
    Check.same(Metrics.get().getChoices(), choices, "choices of H under stock");
    double stock = warm();
    Check.same(Metrics.get().getChoices(), choices, "choices of H under stock");
    site(HarvestPlacementPolicy.class.getName());
    cluster.getNameNode().reconfigureProperty(key, HarvestPlacementPolicy.class.getName());
    file(REPLICAS);
    Check.same(Metrics.get().getChoices(), choices + 1, "choices of H");
    double ours = warm();
    System.out.printf("    a call took %.1f us by stock, %.1f us by H, of it %.1f us the choice (medians, warm)%n", stock,
        ours, Metrics.get().getMedianChoiceMicros());
    Check.that(ours < 2 * stock, "a call by H takes at most twice what stock's takes: " + ours + " and " + stock + " us");
  }
}
