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
 * HDFS-H on a real name node and real data nodes: HdfsMini FOLDER [DATA_NODES] [BLOCKS]. FOLDER/conf is on the class path:
 * a name node that is reconfigured reads its files anew.
 */
public final class HdfsMini {
  private static final int REPLICAS = Cluster.REPLICAS;

  private final Path folder;
  private final int nodes;
  private final int blocks;
  private Cluster cluster;
  private int sequence;

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
    World.write(folder.resolve("tenants.tsv"), World.tenants(nodes));
    cluster = new Cluster(folder, nodes);
    stage("blocks are on three tenants each", this::diverse);
    stage("a lost replica is made again on another tenant", this::repair);
    stage("an excess replica goes without costing diversity", this::excess);
    stage("a reimaged node takes replicas again", this::reimage);
    stage("a decommission ends that leaves fewer environments than replicas", this::decommission);
    stage("a writer that is busy gets no replica, a calm one the first", this::writer);
    stage("a busy node denies, the next replica answers, nothing is corrupt", this::denial);
    stage("a busy node that throttles answers late, others at once", this::ways);
    stage("a node that nobody knows gets what no other can take, by stock", this::unknown);
    stage("a torn file of tenants changes nothing and is counted", this::torn);
    stage("stock and H are switched live", this::live);
  }

  private void stage(String claim, Check.Body body) throws Exception {
    long begun = System.nanoTime();
    body.run();
    System.out.printf("  %s (%.1f s)%n", claim, (System.nanoTime() - begun) / 1e9);
  }

  private org.apache.hadoop.fs.Path file(int replicas) throws IOException {
    org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path("/f" + sequence++);
    cluster.write(path, replicas);
    return path;
  }

  /** A file whose replicas have all been reported: right after close there are those that were until then. */
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
      found.add(World.tenant(Cluster.number(node)));
    }
    return found.size();
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
      await("three replicas of " + path, () -> locations(path).length == REPLICAS);
      Check.same(tenantsOf(locations(path)), REPLICAS, "tenants of " + path);
    }
    Check.same(Metrics.get().getFallbacks(), 0L, "choices left to stock");
    System.out.printf("    %d blocks, by level %s, a choice took %.0f us (median)%n", blocks,
        Arrays.toString(Metrics.get().getPlacedByLevel()), Metrics.get().getMedianChoiceMicros());
  }

  private void repair() throws Exception {
    org.apache.hadoop.fs.Path path = reported(REPLICAS);
    int lost = Cluster.number(locations(path)[1]);
    MiniDFSCluster.DataNodeProperties stopped = cluster.mini.stopDataNode(cluster.index(lost));
    cluster.mini.setDataNodeDead(stopped.getDatanode().getDatanodeId());
    await("a new replica", () -> {
      DatanodeInfo[] now = locations(path);
      return now.length == REPLICAS && Arrays.stream(now).noneMatch(node -> Cluster.number(node) == lost);
    });
    Check.same(tenantsOf(locations(path)), REPLICAS, "tenants after the repair");
    Check.that(cluster.mini.restartDataNode(stopped, true), "the node starts again");
    cluster.mini.waitActive();
  }

  /** Asks the policy as the name node does, for three replicas of a new block. */
  private DatanodeStorageInfo[] choose(DatanodeDescriptor writer) {
    BlockManager manager = cluster.manager();
    return manager.getBlockPlacementPolicy().chooseTarget("/asked", REPLICAS, writer, new ArrayList<>(), false, null,
        1024, manager.getStoragePolicy("HOT"), EnumSet.noneOf(AddBlockFlag.class));
  }

  /** The name node puts another descriptor in the place of the one that was there: their number stays the same. */
  private void reimage() throws Exception {
    int host = 1;
    DatanodeDescriptor before = cluster.descriptor(host);
    choose(null);
    cluster.reimage(host);
    await("it is there as another", () -> cluster.descriptor(host) != null && cluster.descriptor(host) != before);
    cluster.mini.waitActive();
    await("it is chosen", () -> {
      List<DatanodeDescriptor> chosen = new ArrayList<>();
      Arrays.stream(choose(null)).forEach(storage -> chosen.add(storage.getDatanodeDescriptor()));
      Check.that(!chosen.contains(before) || before.equals(cluster.descriptor(host)), "who is gone gets no replica");
      return chosen.stream().anyMatch(node -> node == cluster.descriptor(host));
    });
  }

  /** All nodes of an environment go: the blocks need no more environments than there are. */
  private void decommission() throws Exception {
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
    await("the block is whole again", cluster::settled);
  }

  private void writer() throws Exception {
    DatanodeDescriptor writer = cluster.descriptor(2);
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

  private void excess() throws Exception {
    int many = Math.min(7, nodes); // more than there are tenants: some share one
    org.apache.hadoop.fs.Path path = reported(many);
    cluster.hdfs.setReplication(path, (short) REPLICAS);
    await("three are left", () -> locations(path).length == REPLICAS);
    Check.same(tenantsOf(locations(path)), REPLICAS, "tenants of those left");
  }

  /** A replica that is made again is read from a data node, which is denied and counted as any other read. */
  private void settled() throws Exception {
    await("no replica is made again", cluster::settled);
  }

  private void denial() throws Exception {
    org.apache.hadoop.fs.Path path = reported(REPLICAS);
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
    all(there, true);
    IOException said = null;
    long begun = System.nanoTime();
    StringWriter told = new StringWriter();
    WriterAppender appender = new WriterAppender(new SimpleLayout(), told);
    Logger client = Logger.getLogger("org.apache.hadoop.hdfs.DFSClient");
    client.setLevel(Level.WARN); // as in stock's own settings
    client.setAdditivity(false);
    client.addAppender(appender);
    try {
      read(path);
    } catch (IOException error) {
      said = error;
    } finally {
      client.removeAppender(appender);
      client.setLevel(null);
    }
    Check.that(said != null && Metrics.get().getDeniedReads() > denied, "all replicas busy: the read fails: " + said);
    Check.that(told.toString().contains("'s primary tenant needs its reserve"), "the client tells why: " + told);
    System.out.printf("    refused after %.2f s: %s; staleness %.0f ms median, %.0f ms at most%n",
        (System.nanoTime() - begun) / 1e9, said.getClass().getSimpleName(),
        Metrics.get().getStalenessMedianMillis(), Metrics.get().getStalenessMaxMillis());
    all(there, false);
    read(path);
    Check.same(cluster.hdfs.getClient().getLocatedBlocks(path.toString(), 0).get(0).isCorrupt(), false, "corrupt");
    Check.same(cluster.hdfs.getMissingBlocksCount() + cluster.hdfs.getCorruptBlocksCount(), 0L, "missing and corrupt blocks");
  }

  private void ways() throws Exception {
    org.apache.hadoop.fs.Path path = reported(REPLICAS);
    DatanodeInfo[] there = locations(path);
    all(there, true);
    ObjectName metrics = new ObjectName("hindmost:type=Harvest");
    String[] counted = {"throttle", "reorder", "observe"};
    double[] took = new double[counted.length];
    for (int at = 0; at < counted.length; at++) {
      String way = counted[at];
      ManagementFactory.getPlatformMBeanServer().setAttribute(metrics, new Attribute("Data", way));
      // Who only looks changes nothing: the name node hears of no busy node.
      await("the name node is told, or not where " + way + " is said", () -> Arrays.stream(there).allMatch(node ->
          BusyBoard.get().busy(node.getHostName()) != way.equals("observe")));
      long[] before = counts();
      long begun = System.nanoTime();
      read(path);
      took[at] = (System.nanoTime() - begun) / 1e6;
      long[] after = counts();
      for (int of = 0; of < counted.length; of++) {
        Check.same(after[of] > before[of], of == at, way + ": more was counted of " + counted[of]);
      }
    }
    Check.that(took[0] >= 200, "a throttled read takes its patience, not " + took[0] + " ms");
    System.out.printf("    a read took %.0f ms throttled, %.0f ms reordered, %.0f ms observed%n", took[0], took[1],
        took[2]);
    Metrics.get().setData("deny");
    all(there, false);
    await("the name node hears it", () -> Arrays.stream(there).noneMatch(node -> BusyBoard.get().busy(node.getHostName())));
  }

  /** Accesses that waited, that were served all the same, that were or would be denied. */
  private static long[] counts() {
    return new long[] {Metrics.get().getThrottled(), Metrics.get().getServedBusy(), Metrics.get().getDeniedReads()};
  }

  private void busy(DatanodeInfo node, boolean is) throws IOException {
    cluster.load(node.getHostName(), is ? "0.9" : "0.2");
  }

  /** Has the nodes of a block be busy or calm, and waits until each sees it itself. */
  private void all(DatanodeInfo[] nodes, boolean busy) throws Exception {
    for (DatanodeInfo node : nodes) {
      busy(node, busy);
    }
    await(busy ? "all are busy" : "all are calm", () -> Arrays.stream(nodes).allMatch(node ->
        BusyMonitor.of(node.getHostName(), new Configuration()).busy() == busy));
  }

  private void read(org.apache.hadoop.fs.Path path) throws IOException {
    try (FileSystem fresh = FileSystem.newInstance(cluster.hdfs.getUri(), cluster.hdfs.getConf()); FSDataInputStream in = fresh.open(path)) {
      in.readFully(0, new byte[100]);
    }
  }

  private void unknown() throws Exception {
    String host = World.host(0);
    String without = World.tenants(nodes).replace("host\t" + host + "\tt0\n", "");
    long changed = System.currentTimeMillis();
    World.write(cluster.tenants, World.closed(without.substring(0, without.indexOf("end\t"))));
    await("the name node reads it", () -> {
      choose(null);
      // Times of files are some milliseconds coarse; the file before is many seconds old.
      return Metrics.get().getTenantsAgeSeconds() * 1000 <= System.currentTimeMillis() - changed + 500;
    });
    for (int at = 0; at < 20; at++) {
      for (DatanodeStorageInfo storage : choose(cluster.descriptor(0))) {
        Check.that(storage.getDatanodeDescriptor() != cluster.descriptor(0), "a node that nobody knows is chosen");
      }
    }
    long fallbacks = Metrics.get().getFallbacks();
    reported(nodes);
    Check.that(Metrics.get().getFallbacks() > fallbacks, "stock is asked for the last replica");
    World.write(cluster.tenants, World.tenants(nodes));
  }

  private void torn() throws Exception {
    String whole = World.tenants(nodes);
    for (String text : new String[] {whole.substring(0, whole.length() / 2), whole.replace("\t2.0\t", "\t3.0\t"), ""}) {
      long before = Metrics.get().getTenantsUnreadable();
      World.write(cluster.tenants, text);
      await("it is noticed", () -> {
        file(REPLICAS);
        return Metrics.get().getTenantsUnreadable() > before;
      });
    }
    org.apache.hadoop.fs.Path path = reported(REPLICAS);
    Check.same(tenantsOf(locations(path)), REPLICAS, "tenants by the last good file");
    World.write(cluster.tenants, whole);
  }

  private void live() throws Exception {
    cluster.place(null);
    long choices = Metrics.get().getChoices();
    file(REPLICAS);
    Check.same(Metrics.get().getChoices(), choices, "choices of H under stock");
    double stock = warm();
    Check.same(Metrics.get().getChoices(), choices, "choices of H under stock");
    cluster.place(HarvestPlacementPolicy.class);
    file(REPLICAS);
    Check.same(Metrics.get().getChoices(), choices + 1, "choices of H");
    double ours = warm();
    System.out.printf("    a call took %.1f us by stock, %.1f us by H, of it %.1f us the choice (medians, warm)%n", stock,
        ours, Metrics.get().getMedianChoiceMicros());
    Check.that(ours < 2 * stock, "a call by H takes at most twice what stock's takes: " + ours + " and " + stock + " us");
  }
}
