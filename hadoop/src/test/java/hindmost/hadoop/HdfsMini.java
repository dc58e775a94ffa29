package hindmost.hadoop;

import java.io.IOException;
import java.io.StringWriter;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.management.Attribute;
import javax.management.ObjectName;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.AddBlockFlag;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManager;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeAdminManager;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeDescriptor;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeStorageInfo;
import org.apache.hadoop.hdfs.server.blockmanagement.HarvestPlacementPolicy;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.SimpleLayout;
import org.apache.log4j.WriterAppender;

/**
 * HDFS-H on a real name node and real data nodes: HdfsMini FOLDER [DATA_NODES] [BLOCKS]. The class path has
 * FOLDER/conf, since a reconfigured name node reads its files again.
 */
public final class HdfsMini {
  private static final int REPLICAS = Cluster.REPLICAS;

  private final Path folder;
  private final int nodes;
  private final int blocks;
  private Cluster cluster;
  private int fileCount;

  private HdfsMini(Path folder, int nodes, int blocks) {
    this.folder = folder;
    this.nodes = nodes;
    this.blocks = blocks;
  }

  public static void main(String[] arguments) {
    int nodes = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 9;
    int blocks = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 60;
    Check.main("HDFS on " + nodes + " data nodes",
        () -> new HdfsMini(Path.of(arguments[0]).toAbsolutePath(), nodes, blocks).run());
  }

  private void run() throws Exception {
    Files.createDirectories(folder);
    TestTenants.write(folder.resolve("tenants.tsv"), TestTenants.tenants(nodes));
    cluster = new Cluster(folder, nodes);
    stage("each block is on three tenants", this::checkDiversity);
    stage("a lost replica is restored on another tenant", this::checkRepair);
    stage("deleting an excess replica costs no diversity", this::checkExcess);
    stage("a reimaged node gets replicas again", this::checkReimage);
    stage("a decommission ends even if it leaves fewer environments than replicas", this::checkDecommission);
    stage("a busy writer gets no replica, an idle writer gets the first", this::checkWriter);
    stage("a busy node denies reads, the next replica answers, no block is corrupt", this::checkDenial);
    stage("a busy node answers late when it throttles, at once when it reorders or observes", this::checkModes);
    stage("an unknown node gets only the replicas that no other node can take, by stock", this::checkUnknownNode);
    stage("a torn file of tenants is counted and changes nothing else", this::checkTornFile);
    stage("stock and HDFS-H can be switched at run time", this::checkSwitching);
  }

  private void stage(String claim, Check.Body body) throws Exception {
    long started = System.nanoTime();
    body.run();
    System.out.printf("  %s (%.1f s)%n", claim, (System.nanoTime() - started) / 1e9);
  }

  private org.apache.hadoop.fs.Path file(int replicas) throws IOException {
    org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path("/f" + fileCount++);
    cluster.write(path, replicas);
    return path;
  }

  /** Write a file and wait until all its replicas are reported: right after close some are still missing. */
  private org.apache.hadoop.fs.Path reported(int replicas) throws Exception {
    org.apache.hadoop.fs.Path path = file(replicas);
    await(replicas + " replicas of " + path, () -> locations(path).length == replicas);
    return path;
  }

  private DatanodeInfo[] locations(org.apache.hadoop.fs.Path path) throws IOException {
    return cluster.locations(path);
  }

  private int tenantsOf(DatanodeInfo[] locations) {
    Set<Integer> found = new HashSet<>();
    for (DatanodeInfo node : locations) {
      found.add(TestTenants.tenant(Cluster.number(node)));
    }
    return found.size();
  }

  private void await(String claim, Check.Condition condition) throws Exception {
    Check.await(claim, 80, condition);
  }

  private void checkDiversity() throws Exception {
    for (int at = 0; at < blocks; at++) {
      file(REPLICAS);
    }
    for (int at = 0; at < blocks; at++) {
      org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path("/f" + at);
      await("three replicas of " + path, () -> locations(path).length == REPLICAS);
      Check.same(tenantsOf(locations(path)), REPLICAS, "tenants of " + path);
    }
    Check.same(Metrics.get().getFallbacks(), 0L, "choices left to stock");
    System.out.printf("    %d blocks, by level %s, %.0f us per choice (median)%n", blocks,
        Arrays.toString(Metrics.get().getPlacedByLevel()), Metrics.get().getMedianChoiceMicros());
  }

  private void checkRepair() throws Exception {
    org.apache.hadoop.fs.Path path = reported(REPLICAS);
    int lost = Cluster.number(locations(path)[1]);
    MiniDFSCluster.DataNodeProperties stopped = cluster.mini.stopDataNode(cluster.index(lost));
    cluster.mini.setDataNodeDead(stopped.getDatanode().getDatanodeId());
    await("a new replica", () -> {
      DatanodeInfo[] now = locations(path);
      return now.length == REPLICAS && Arrays.stream(now).noneMatch(node -> Cluster.number(node) == lost);
    });
    Check.same(tenantsOf(locations(path)), REPLICAS, "tenants after the repair");
    Check.that(cluster.mini.restartDataNode(stopped, true), "the data node restarts");
    cluster.mini.waitActive();
  }

  /** Ask the policy as the name node does: three replicas of a new block. */
  private DatanodeStorageInfo[] choose(DatanodeDescriptor writer) {
    BlockManager manager = cluster.manager();
    return manager.getBlockPlacementPolicy().chooseTarget("/chosen", REPLICAS, writer, new ArrayList<>(), false, null,
        1024, manager.getStoragePolicy("HOT"), EnumSet.noneOf(AddBlockFlag.class));
  }

  /** The name node replaces the descriptor of the data node: the number of nodes stays the same. */
  private void checkReimage() throws Exception {
    int host = 1;
    DatanodeDescriptor before = cluster.descriptor(host);
    choose(null);
    cluster.reimage(host);
    await("the host has a new descriptor", () -> cluster.descriptor(host) != null && cluster.descriptor(host) != before);
    cluster.mini.waitActive();
    await("the host is chosen", () -> {
      List<DatanodeDescriptor> chosen = new ArrayList<>();
      Arrays.stream(choose(null)).forEach(storage -> chosen.add(storage.getDatanodeDescriptor()));
      Check.that(!chosen.contains(before) || before.equals(cluster.descriptor(host)), "a removed node gets no replica");
      return chosen.stream().anyMatch(node -> node == cluster.descriptor(host));
    });
  }

  /** Decommission all nodes of an environment: the blocks then need only the remaining environments. */
  private void checkDecommission() throws Exception {
    int tenants = (nodes + 1) / 2;
    org.apache.hadoop.fs.Path path = reported(tenants);
    Check.same(tenantsOf(locations(path)), tenants, "tenants of a block with a replica for each");
    DatanodeAdminManager admin = cluster.manager().getDatanodeManager().getDatanodeAdminManager();
    List<DatanodeDescriptor> leaving = new ArrayList<>();
    for (int host = 2 * (tenants - 1); host < nodes; host++) {
      leaving.add(cluster.descriptor(host));
    }
    leaving.forEach(admin::startDecommission);
    await("the nodes are decommissioned", () -> leaving.stream().allMatch(DatanodeDescriptor::isDecommissioned));
    leaving.forEach(admin::stopDecommission);
    await("the block has all its replicas again", cluster::settled);
  }

  private void checkWriter() throws Exception {
    DatanodeDescriptor writer = cluster.descriptor(2);
    Check.same(choose(writer)[0].getDatanodeDescriptor(), writer, "the first replica");
    setBusy(writer, true);
    await("the name node has the report", () -> BusyBoard.get().busy(writer.getHostName()));
    for (int at = 0; at < 20; at++) {
      for (DatanodeStorageInfo storage : choose(writer)) {
        Check.that(storage.getDatanodeDescriptor() != writer, "a busy writer gets a replica");
      }
    }
    setBusy(writer, false);
    await("the name node has the second report", () -> !BusyBoard.get().busy(writer.getHostName()));
  }

  /** Return the median duration of a warm choice by the policy in force, in microseconds. */
  private double medianChoiceMicros() {
    double[] took = new double[2000];
    for (int at = 0; at < took.length; at++) {
      long started = System.nanoTime();
      choose(null);
      took[at] = (System.nanoTime() - started) / 1e3;
    }
    Arrays.sort(took);
    return took[took.length / 2];
  }

  private void checkExcess() throws Exception {
    int replicas = Math.min(7, nodes); // more than there are tenants: some replicas share one
    org.apache.hadoop.fs.Path path = reported(replicas);
    cluster.hdfs.setReplication(path, (short) REPLICAS);
    await("three replicas are left", () -> locations(path).length == REPLICAS);
    Check.same(tenantsOf(locations(path)), REPLICAS, "tenants of the remaining replicas");
  }

  /** Wait for all copies: a copy reads from a data node, which is denied and counted like any other read. */
  private void awaitCopies() throws Exception {
    await("no copy is in progress", cluster::settled);
  }

  private void checkDenial() throws Exception {
    org.apache.hadoop.fs.Path path = reported(REPLICAS);
    awaitCopies();
    DatanodeInfo[] replicas = locations(path);
    setBusy(replicas[0], true);
    BusyMonitor first = BusyMonitor.forHost(replicas[0].getHostName(), new Configuration());
    await("the data node is busy", first::busy);
    await("the name node has the report", () -> BusyBoard.get().busy(replicas[0].getHostName()));
    Check.same(locations(path)[REPLICAS - 1].getHostName(), replicas[0].getHostName(), "the last in the list");
    long denied = Metrics.get().getDeniedReads();
    read(path);
    Check.same(Metrics.get().getDeniedReads(), denied, "denials while another replica is first");
    setAllBusy(replicas, true);
    IOException failure = null;
    long started = System.nanoTime();
    StringWriter log = new StringWriter();
    WriterAppender appender = new WriterAppender(new SimpleLayout(), log);
    Logger client = Logger.getLogger("org.apache.hadoop.hdfs.DFSClient");
    client.setLevel(Level.WARN); // as in stock's settings
    client.setAdditivity(false);
    client.addAppender(appender);
    try {
      read(path);
    } catch (IOException error) {
      failure = error;
    } finally {
      client.removeAppender(appender);
      client.setLevel(null);
    }
    Check.that(failure != null && Metrics.get().getDeniedReads() > denied,
        "all replicas busy: the read fails: " + failure);
    Check.that(log.toString().contains("'s primary tenant needs its reserve"), "the client logs the reason: " + log);
    System.out.printf("    refused after %.2f s: %s; staleness %.0f ms median, %.0f ms at most%n",
        (System.nanoTime() - started) / 1e9, failure.getClass().getSimpleName(),
        Metrics.get().getStalenessMedianMillis(), Metrics.get().getStalenessMaxMillis());
    setAllBusy(replicas, false);
    read(path);
    Check.same(cluster.hdfs.getClient().getLocatedBlocks(path.toString(), 0).get(0).isCorrupt(), false, "corrupt");
    Check.same(cluster.hdfs.getMissingBlocksCount() + cluster.hdfs.getCorruptBlocksCount(), 0L, "missing and corrupt blocks");
  }

  private void checkModes() throws Exception {
    org.apache.hadoop.fs.Path path = reported(REPLICAS);
    DatanodeInfo[] replicas = locations(path);
    setAllBusy(replicas, true);
    ObjectName metrics = new ObjectName("hindmost:type=Harvest");
    String[] modes = {"throttle", "reorder", "observe"};
    double[] took = new double[modes.length];
    for (int at = 0; at < modes.length; at++) {
      String mode = modes[at];
      ManagementFactory.getPlatformMBeanServer().setAttribute(metrics, new Attribute("Data", mode));
      // In the mode observe the name node must not hear of a busy node.
      await("the name node has the reports that belong to the mode " + mode, () -> Arrays.stream(replicas).allMatch(node ->
          BusyBoard.get().busy(node.getHostName()) != mode.equals("observe")));
      long[] before = counts();
      long started = System.nanoTime();
      read(path);
      took[at] = (System.nanoTime() - started) / 1e6;
      long[] after = counts();
      for (int counter = 0; counter < modes.length; counter++) {
        Check.same(after[counter] > before[counter], counter == at, mode + ": increase of " + modes[counter]);
      }
    }
    Check.that(took[0] >= 200, "a throttled read waits at least 200 ms, not " + took[0] + " ms");
    System.out.printf("    a read took %.0f ms throttled, %.0f ms reordered, %.0f ms observed%n", took[0], took[1],
        took[2]);
    Metrics.get().setData("deny");
    setAllBusy(replicas, false);
    await("the name node has the report",
        () -> Arrays.stream(replicas).noneMatch(node -> BusyBoard.get().busy(node.getHostName())));
  }

  /** Return the numbers of accesses that waited, that were served, and that were or would be denied. */
  private static long[] counts() {
    return new long[] {Metrics.get().getThrottled(), Metrics.get().getServedBusy(), Metrics.get().getDeniedReads()};
  }

  private void setBusy(DatanodeInfo node, boolean busy) throws IOException {
    cluster.setLoad(node.getHostName(), busy ? "0.9" : "0.2");
  }

  /** Make all nodes of a block busy or idle, and wait until each one notices. */
  private void setAllBusy(DatanodeInfo[] nodes, boolean busy) throws Exception {
    for (DatanodeInfo node : nodes) {
      setBusy(node, busy);
    }
    await(busy ? "all are busy" : "all are idle", () -> Arrays.stream(nodes).allMatch(node ->
        BusyMonitor.forHost(node.getHostName(), new Configuration()).busy() == busy));
  }

  private void read(org.apache.hadoop.fs.Path path) throws IOException {
    try (FileSystem fresh = FileSystem.newInstance(cluster.hdfs.getUri(), cluster.hdfs.getConf());
        FSDataInputStream in = fresh.open(path)) {
      in.readFully(0, new byte[100]);
    }
  }

  private void checkUnknownNode() throws Exception {
    String host = TestTenants.host(0);
    String without = TestTenants.tenants(nodes).replace("host\t" + host + "\tt0\n", "");
    long changed = System.currentTimeMillis();
    TestTenants.write(cluster.tenants, TestTenants.withChecksum(without.substring(0, without.indexOf("end\t"))));
    await("the name node reads the file", () -> {
      choose(null);
      // File times are coarse by some milliseconds; the previous file is many seconds old.
      return Metrics.get().getTenantsAgeSeconds() * 1000 <= System.currentTimeMillis() - changed + 500;
    });
    for (int at = 0; at < 20; at++) {
      for (DatanodeStorageInfo storage : choose(cluster.descriptor(0))) {
        Check.that(storage.getDatanodeDescriptor() != cluster.descriptor(0), "an unknown node is chosen");
      }
    }
    long fallbacks = Metrics.get().getFallbacks();
    reported(nodes);
    Check.that(Metrics.get().getFallbacks() > fallbacks, "stock chooses the last replica");
    TestTenants.write(cluster.tenants, TestTenants.tenants(nodes));
  }

  private void checkTornFile() throws Exception {
    String whole = TestTenants.tenants(nodes);
    for (String text : new String[] {whole.substring(0, whole.length() / 2), whole.replace("\t2.0\t", "\t3.0\t"), ""}) {
      long before = Metrics.get().getTenantsUnreadable();
      TestTenants.write(cluster.tenants, text);
      await("the torn file is counted", () -> {
        file(REPLICAS);
        return Metrics.get().getTenantsUnreadable() > before;
      });
    }
    org.apache.hadoop.fs.Path path = reported(REPLICAS);
    Check.same(tenantsOf(locations(path)), REPLICAS, "tenants by the last good file");
    TestTenants.write(cluster.tenants, whole);
  }

  private void checkSwitching() throws Exception {
    cluster.setPolicy(null);
    long choices = Metrics.get().getChoices();
    file(REPLICAS);
    Check.same(Metrics.get().getChoices(), choices, "choices of HDFS-H under stock");
    double stock = medianChoiceMicros();
    Check.same(Metrics.get().getChoices(), choices, "choices of HDFS-H under stock");
    cluster.setPolicy(HarvestPlacementPolicy.class);
    file(REPLICAS);
    Check.same(Metrics.get().getChoices(), choices + 1, "choices of HDFS-H");
    double harvest = medianChoiceMicros();
    System.out.printf("    a call took %.1f us by stock, %.1f us by HDFS-H including %.1f us for the choice (warm medians)%n",
        stock, harvest, Metrics.get().getMedianChoiceMicros());
    Check.that(harvest < 2 * stock,
        "a call by HDFS-H takes less than twice the time of stock: " + harvest + " and " + stock + " us");
  }
}
