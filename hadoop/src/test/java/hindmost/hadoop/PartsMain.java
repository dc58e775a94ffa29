package hindmost.hadoop;

import java.nio.charset.StandardCharsets;
import java.net.InetAddress;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.net.DFSNetworkTopology;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeDescriptor;
import org.apache.hadoop.net.Node;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;

/**
 * Tests that need no cluster: the file of tenants, the orders of replicas and nodes, the reserve, and the tenant's
 * reports.
 */
public final class PartsMain {
  public static void main(String[] arguments) {
    Check.main("parts", () -> {
      tornFileIsRefused();
      lastGoodFileIsKept();
      busyReplicasAreLast();
      boardAcceptsOnlyGenuineReports();
      reserveIsKept();
      sizesAreRestored();
      utilisationIsRead();
      orderFollowsFreeCores();
      orderFollowsClasses();
      reportsShowTheTenant();
      freeCoresAreReadOnce();
      executorJoinsGroup();
    });
  }

  private static void tornFileIsRefused() throws Exception {
    String whole = TestTenants.tenants(6);
    Path path = Files.createTempFile("tenants", ".tsv");
    TestTenants.write(path, whole);
    Check.same(TenantsFile.read(path).hosts.size(), 6, "hosts");
    assertRefused(path, whole.replace("\t2.0\t", "\t3.0\t"), "its checksum is not");
    assertRefused(path, whole.substring(0, whole.indexOf("end")), "it has no end");
    assertRefused(path, TestTenants.withChecksum("# hindmost.harvest.tenants/1\nhost\ta\tnobody\n"), ":2 is not a class, a tenant or a new host");
    assertRefused(path, TestTenants.withChecksum("# hindmost.harvest.tenants/1\ntenant\ta\te\tNaN\t1\t1\t0\nhost\th\ta\n"), "tenant a: NaN");
    assertRefused(path, TestTenants.withChecksum("# hindmost.harvest.tenants/1\n"), "has no host");
    assertRefused(path, TestTenants.withChecksum("# hindmost.harvest.tenants/1\nclass\t0\tdaily\t0.1\t0.2\n"), ":2 is not a class");
    assertRefused(path, TestTenants.withChecksum("# hindmost.harvest.tenants/1\nclass\t0\tperiodic\t-1\t0.2\n"), ":2 is not a class: -1");
    Files.delete(path);
  }

  /** An executor refuses an invalid group, and a container joins a valid one. */
  private static void executorJoinsGroup() throws Exception {
    Path folder = Files.createTempDirectory("groups");
    Path group = folder.resolve("batch");
    assertExecutorRefuses("", Keys.CGROUP + " is not set");
    assertExecutorRefuses(group.toString(), "cpu.idle does not exist");
    Check.that(Files.notExists(group), "a useless group is deleted");
    assertExecutorRefuses(folder.resolve("nowhere/batch").toString(), "nowhere/batch");
    // The files that the kernel would provide.
    Path idle = Files.createDirectory(group).resolve("cpu.idle");
    Files.writeString(idle, "0\n");
    String[] command = executor(group.toString()).getRunCommand("task", "container", "user", null, new Configuration(false), null);
    Check.same(Files.readString(idle), "1\n", "cpu.idle");
    Path joined = group.resolve("cgroup.procs");
    command[command.length - 1] = "-c";
    List<String> asked = new ArrayList<>(Arrays.asList(command));
    asked.add("echo $$");
    Process run = new ProcessBuilder(asked).start();
    String pid = new String(run.getInputStream().readAllBytes());
    Check.that(run.waitFor() == 0 && pid.equals(Files.readString(joined)), "the container starts in the group: " + asked);
    Files.delete(joined);
    Files.createDirectory(joined);
    Check.that(new ProcessBuilder(asked).start().waitFor() != 0, "a container that cannot join does not start");
    Files.delete(joined);
    Files.delete(idle);
    Files.delete(group);
    Files.delete(folder);
  }

  private static IdleExecutor executor(String group) throws IOException {
    IdleExecutor executor = new IdleExecutor();
    Configuration conf = new Configuration(false);
    conf.set(Keys.CGROUP, group);
    executor.setConf(conf);
    executor.init(null);
    return executor;
  }

  private static void assertExecutorRefuses(String group, String why) {
    try {
      executor(group);
    } catch (IOException failure) {
      Check.that(failure.getMessage().contains(why), failure.getMessage() + ": expected " + why);
      return;
    }
    throw new AssertionError("started with the group '" + group + "'");
  }

  private static void assertRefused(Path path, String text, String why) throws IOException {
    TestTenants.write(path, text);
    try {
      TenantsFile.read(path);
    } catch (IOException failure) {
      Check.that(failure.getMessage().contains(why), failure.getMessage() + ": expected " + why);
      return;
    }
    throw new AssertionError("read: " + text);
  }

  private static void lastGoodFileIsKept() throws Exception {
    Path path = Files.createTempFile("tenants", ".tsv");
    TestTenants.write(path, TestTenants.tenants(6));
    Files.setLastModifiedTime(path, java.nio.file.attribute.FileTime.fromMillis(System.currentTimeMillis() - 90_000));
    Configuration conf = new Configuration(false);
    conf.set(Keys.TENANTS_FILE, path.toString());
    conf.setInt(Keys.TENANTS_PERIOD, 0);
    Tenants tenants = new Tenants(conf);
    Tenants.State good = tenants.state();
    Check.that(Metrics.get().getTenantsAgeSeconds() >= 90, "the age of a stale file is reported");
    long before = Metrics.get().getTenantsUnreadable();
    TestTenants.write(path, "torn");
    Check.that(tenants.state() == good && Metrics.get().getTenantsUnreadable() > before, "the last good file is kept");
    Files.delete(path);
    Check.that(tenants.state() == good, "the last good file is kept after its deletion");
    TestTenants.write(path, TestTenants.tenants(4));
    Check.same(tenants.state().file.hosts.size(), 4, "hosts of the next good file");
    Files.delete(path);
    Check.that(new Tenants(conf).state() == null, "without a file stock places blocks");
  }

  private static void busyReplicasAreLast() {
    Configuration conf = new Configuration(false);
    conf.setClass("dfs.net.topology.impl", BusyTopology.class, DFSNetworkTopology.class);
    DFSNetworkTopology topology = DFSNetworkTopology.getInstance(conf);
    DatanodeDescriptor[] nodes = new DatanodeDescriptor[3];
    for (int at = 0; at < nodes.length; at++) {
      nodes[at] = new DatanodeDescriptor(new DatanodeID("10.0.0." + at, TestTenants.host(at), "u" + at, 1, 2, 3, 4), "/r" + at);
      topology.add(nodes[at]);
    }
    BusyBoard.get().add(TestTenants.host(0), true, 0);
    Consumer<List<DatanodeDescriptor>> none = list -> { };
    List<Consumer<DatanodeDescriptor[]>> methods = List.of(
        all -> topology.sortByDistance(nodes[0], (Node[]) all, 3),
        all -> topology.sortByDistance(nodes[0], all, 3, none),
        all -> topology.sortByDistanceUsingNetworkLocation(nodes[0], (Node[]) all, 3),
        all -> topology.sortByDistanceUsingNetworkLocation(nodes[0], all, 3, none));
    for (int method = 0; method < methods.size(); method++) {
      DatanodeDescriptor[] all = nodes.clone();
      methods.get(method).accept(all);
      Check.that(all[2] == nodes[0], "sort method " + method + ": the reader's own node is busy, thus last");
    }
    BusyBoard.get().add(TestTenants.host(0), true, 60_000);
    DatanodeDescriptor[] all = nodes.clone();
    topology.sortByDistance(nodes[0], (Node[]) all, 3);
    Check.that(all[0] == nodes[0], "a report that is a minute old has expired");
  }

  private static void boardAcceptsOnlyGenuineReports() throws IOException {
    byte[] key = "the cluster's".getBytes(StandardCharsets.UTF_8);
    BusyBoard board = BusyBoard.get();
    board.close();
    board.listen(InetAddress.getLoopbackAddress(), 0, 5000, key);
    byte[] report = BusyBoard.encode("a", true, 0, 10, key);
    Check.that(board.accept(report, report.length) && board.busy("a"), "a report with the key is accepted");
    Check.that(!board.accept(report, report.length), "a report is accepted only once");
    for (byte[] other : List.of(BusyBoard.encode("a", false, 0, 11, new byte[0]), BusyBoard.encode("a", false, 0, 9, key),
        "a 0 0".getBytes(StandardCharsets.UTF_8), "a 0 0 12 ff".getBytes(StandardCharsets.UTF_8), new byte[512])) {
      Check.that(!board.accept(other, other.length) && board.busy("a"), "forged, late or broken reports are rejected");
    }
    Check.that(board.busy("A."), "case and a final dot do not matter");
    byte[] old = BusyBoard.encode("b", true, Long.MAX_VALUE, 1, key);
    Check.that(board.accept(old, old.length) && !board.busy("b"), "a very old report has expired");
    for (int at = 0; at < 2 * BusyBoard.MOST_HOSTS; at++) {
      board.add("host" + at, true, 0);
    }
    Check.that(board.staleness().length <= BusyBoard.MOST_HOSTS, "the number of hosts on the board is limited");
    board.close();
  }

  private static void reserveIsKept() {
    ReserveKeeper keeper = new ReserveKeeper(null, 1.0 / 3, 0);
    Resource whole = Resource.newInstance(9000, 12);
    Check.same(keeper.left(whole, 0, 0), Resource.newInstance(6000, 8), "left by a reserve");
    Check.same(keeper.left(whole, 0.3, 100.5), Resource.newInstance(5899, 7), "left by a tenant");
    Check.same(keeper.left(whole, 11, 20_000), Resource.newInstance(0, 0), "left by a full node");
  }

  /** Sizes survive a shrink, a late report, a restarted keeper and a restarted node, whatever yarn-default.xml says. */
  private static void sizesAreRestored() throws Exception {
    Path file = Files.createTempDirectory("keeper").resolve("new/nodes");
    NodeId small = NodeId.newInstance("small", 1);
    NodeId large = NodeId.newInstance("large", 1);
    Resource eight = Resource.newInstance(8192, 8);
    Resource many = Resource.newInstance(65536, 32);
    NodeSizes sizes = new NodeSizes(file);
    Check.same(sizes.whole(small, eight), eight, "a node that never shrank");
    sizes.set(small, eight, Resource.newInstance(4000, 4));
    sizes.set(large, many, Resource.newInstance(0, 0));
    sizes.set(large, many, Resource.newInstance(9000, 3));
    sizes.write();
    for (NodeSizes each : List.of(sizes, new NodeSizes(file))) {
      Check.same(each.whole(small, Resource.newInstance(4000, 4)), eight, "a shrunk node");
      Check.same(each.whole(large, Resource.newInstance(9000, 3)), many, "a node that shrank twice");
      Check.same(each.whole(large, Resource.newInstance(0, 0)), many, "a report that is a round late");
      Check.same(each.whole(large, Resource.newInstance(1000, 16)), Resource.newInstance(1000, 16), "a restarted node");
    }
    TestTenants.write(file, "small:1 8192\n");
    try {
      new NodeSizes(file);
      throw new AssertionError("a broken file is read");
    } catch (IOException failure) {
      Check.that(failure.getMessage().contains("not a file of node sizes"), failure.getMessage());
    }
    PrimaryTenantCalculator calculator = new PrimaryTenantCalculator();
    Configuration defaults = new YarnConfiguration(); // its vcores are -1
    defaults.set("yarn.nodemanager.hostname", "HOST.example.com");
    Path load = Files.createTempDirectory("load");
    defaults.set(Keys.UTILISATION_FILE, load.resolve("%h.load").toString());
    TestTenants.write(load.resolve("host.load"), "0.5\n");
    calculator.setConf(defaults);
    Check.that(calculator.getNumVCoresUsed() == 4f, "of eight cores by default: " + calculator.getNumVCoresUsed());
  }

  private static void utilisationIsRead() throws Exception {
    Path path = Files.createTempFile("utilisation", ".load");
    TestTenants.write(path, "0.25 1500.5\n");
    Utilisation both = Utilisation.read(path);
    Check.that(both.cores == 0.25 && both.megabytes == 1500.5, "a share of cores and memory");
    TestTenants.write(path, "0.5\n");
    Check.that(Utilisation.read(path).cores == 0.5 && Utilisation.read(path).megabytes == 0, "cores only");
    for (String wrong : List.of("", "busy", "-0.1", "NaN", "0.2 NaN", "0.2 -1", "0.2 1 2")) {
      TestTenants.write(path, wrong);
      try {
        Utilisation.read(path);
      } catch (IOException failure) {
        Check.that(failure.getMessage().contains("expected a share of cores"), failure.getMessage());
        continue;
      }
      throw new AssertionError("read as a utilisation: " + wrong);
    }
    Files.delete(path);
    Resource whole = Resource.newInstance(9000, 12);
    Resource left = new ReserveKeeper(null, 0, 0).left(whole, Utilisation.ALL.cores * 12, Utilisation.ALL.megabytes);
    Check.same(left, Resource.newInstance(0, 0), "left by a tenant of unknown utilisation");
  }

  /** Count how often each node is first; the free cores are 6, 3 and 0 of 12. */
  private static void orderFollowsFreeCores() {
    HarvestNodeOrder<FiCaSchedulerNode> policy = new HarvestNodeOrder<>();
    FiCaSchedulerNode[] nodes = {node("a", 6), node("b", 3), node("c", 0)};
    policy.addAndRefreshNodesSet(Arrays.asList(nodes), "");
    int[] first = new int[3];
    int rounds = 3000;
    for (int at = 0; at < rounds; at++) {
      Iterator<FiCaSchedulerNode> order = policy.getPreferredNodeIterator(List.of(), "");
      first[Arrays.asList(nodes).indexOf(order.next())]++;
      order.next();
      Check.that(order.next() == nodes[2] && !order.hasNext(), "the full node is last");
    }
    // Six standard deviations of a share of two thirds.
    Check.that(Math.abs(first[0] -  rounds * 2 / 3.0) < 160, "of " + rounds + ", first were " + Arrays.toString(first));
  }

  /**
   * Count how often each node is first, by length of job: one node per pattern and an unknown one, with equal free
   * cores.
   */
  private static void orderFollowsClasses() throws Exception {
    Path path = Files.createTempFile("tenants", ".tsv");
    StringBuilder text = new StringBuilder("# hindmost.harvest.tenants/1\n");
    String[] patterns = {"periodic", "constant", "unpredictable"};
    for (int at = 0; at < patterns.length; at++) {
      text.append(String.format("class\t%d\t%s\t0.25\t0.5\n", at, patterns[at]));
      text.append(String.format("tenant\tt%d\te%d\t1\t0.5\t1\t%d\n", at, at, at));
      text.append(String.format("host\t%s\tt%d\n", patterns[at], at));
    }
    TestTenants.write(path, TestTenants.withChecksum(text.toString()));
    Configuration conf = new Configuration(false);
    conf.set(Keys.TENANTS_FILE, path.toString());
    conf.setDouble(Keys.RESERVE, 0.25);
    // Of 12 cores, 6 are free. The past and the reserve leave 9 for a short job, 6 for a medium one, 3 for a long one.
    countFirst(conf, new HarvestNodeOrder.Short<>(), new double[] {6 * 3, 6, 6 * 9, 6});
    countFirst(conf, new HarvestNodeOrder.Medium<>(), new double[] {6 * 9, 6 * 3, 6, 6});
    countFirst(conf, new HarvestNodeOrder.Long<>(), new double[] {3 * 3, 3 * 9, 3, 6});
    countFirst(conf, new HarvestNodeOrder<>(), new double[] {6, 6, 6, 6});
    conf.setDouble(Keys.RESERVE, 0.5);
    countFirst(conf, new HarvestNodeOrder.Long<>(), new double[] {0, 0, 0, 6});
    Files.delete(path);
  }

  private static void countFirst(Configuration conf, HarvestNodeOrder<FiCaSchedulerNode> policy, double[] weights) {
    policy.setConf(conf);
    FiCaSchedulerNode[] nodes =
        {node("periodic", 6), node("constant", 6), node("unpredictable", 6), node("unknown", 6)};
    policy.addAndRefreshNodesSet(Arrays.asList(nodes), "");
    double all = Arrays.stream(weights).sum();
    int[] first = new int[nodes.length];
    int rounds = 4000;
    for (int at = 0; at < rounds; at++) {
      Iterator<FiCaSchedulerNode> order = policy.getPreferredNodeIterator(List.of(), "");
      first[Arrays.asList(nodes).indexOf(order.next())]++;
    }
    for (int at = 0; at < nodes.length; at++) {
      double share = weights[at] / all;
      double error = 6 * Math.sqrt(rounds * share * (1 - share)); // six standard deviations
      Check.that(Math.abs(first[at] -  rounds * share) <= error,
          policy.getClass().getSimpleName() + ": first were " + Arrays.toString(first) + ", weights "
              + Arrays.toString(weights));
    }
  }

  /** The keeper reads the tenant's utilisation from the reports of a node manager. */
  private static void reportsShowTheTenant() throws Exception {
    Path path = Files.createTempFile("host.example", ".load");
    Configuration conf = new Configuration(false);
    conf.set("yarn.nodemanager.hostname", path.getFileName().toString().replace(".load", ""));
    conf.set(Keys.UTILISATION_FILE, path.resolveSibling("%h.load").toString());
    conf.setInt("yarn.nodemanager.resource.cpu-vcores", 12);
    PrimaryTenantCalculator calculator = new PrimaryTenantCalculator();
    calculator.setConf(conf);
    Resource whole = Resource.newInstance(9000, 12);
    TestTenants.write(path, "0.25 1500\n");
    Utilisation reported = PrimaryTenantCalculator.reported(report(calculator), whole);
    Check.that(reported.cores == 0.25 && reported.megabytes == 1500,
        "the tenant's report: " + reported.cores + ", " + reported.megabytes);
    Files.delete(path);
    reported = PrimaryTenantCalculator.reported(report(calculator), whole);
    Check.that(reported.cores == 1 && reported.megabytes > 1500, "an unknown tenant uses all: " + reported.cores);
    for (ResourceUtilization none : Arrays.asList(null, ResourceUtilization.newInstance(0, 0, 0f))) {
      Check.that(PrimaryTenantCalculator.reported(none, whole) == Utilisation.ALL, "a missing report counts as all");
    }
  }

  /** Build a report from the calculator as a node manager does. */
  private static ResourceUtilization report(PrimaryTenantCalculator calculator) {
    return ResourceUtilization.newInstance(
        (int) (calculator.getPhysicalMemorySize() - calculator.getAvailablePhysicalMemorySize() >> 20),
        (int) (calculator.getVirtualMemorySize() - calculator.getAvailableVirtualMemorySize() >> 20),
        calculator.getNumVCoresUsed());
  }

  /** An order of many nodes reads the free cores of each node once. */
  private static void freeCoresAreReadOnce() {
    HarvestNodeOrder<FiCaSchedulerNode> policy = new HarvestNodeOrder<>();
    AtomicLong asked = new AtomicLong();
    List<FiCaSchedulerNode> nodes = new ArrayList<>();
    for (int at = 0; at < 500; at++) {
      nodes.add(new FiCaSchedulerNode(node("n" + at, 4).getRMNode(), false) {
        @Override public Resource getUnallocatedResource() {
          asked.incrementAndGet();
          return super.getUnallocatedResource();
        }
      });
    }
    policy.addAndRefreshNodesSet(nodes, "");
    Set<FiCaSchedulerNode> order = new HashSet<>();
    asked.set(0);
    policy.getPreferredNodeIterator(List.of(), "").forEachRemaining(order::add);
    Check.same(order.size(), 500, "nodes in the order");
    Check.same(asked.get(), 500L, "reads of free cores");
  }

  private static FiCaSchedulerNode node(String host, int cores) {
    RMNode node = (RMNode) Proxy.newProxyInstance(RMNode.class.getClassLoader(), new Class<?>[] {RMNode.class},
        (proxy, method, arguments) -> {
          switch (method.getName()) {
            case "getNodeID": return NodeId.newInstance(host, 1);
            case "getHostName": return host;
            case "getPhysicalResource": return Resource.newInstance(8192, 12);
            case "getTotalCapability": return Resource.newInstance(8192, cores);
            default: return method.getReturnType() == int.class ? (Object) 0 : null;
          }
        });
    return new FiCaSchedulerNode(node, false);
  }
}
