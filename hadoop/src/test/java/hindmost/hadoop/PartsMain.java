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

/** What needs no cluster: the file of tenants, the order of replicas and of nodes, the reserve, reports of a tenant. */
public final class PartsMain {
  public static void main(String[] arguments) {
    Check.main("parts", () -> {
      torn();
      lastGood();
      busyLast();
      board();
      reserve();
      sizes();
      utilisation();
      order();
      orderByClass();
      reports();
      eachNodeIsAskedOnce();
      lastInLine();
    });
  }

  private static void torn() throws Exception {
    String whole = World.tenants(6);
    Path path = Files.createTempFile("tenants", ".tsv");
    World.write(path, whole);
    Check.same(TenantsFile.read(path).hosts.size(), 6, "hosts");
    refused(path, whole.replace("\t2.0\t", "\t3.0\t"), "its checksum is not");
    refused(path, whole.substring(0, whole.indexOf("end")), "it has no end");
    refused(path, World.closed("# hindmost.harvest.tenants/1\nhost\ta\tnobody\n"), ":2 is no class, no tenant and no new host");
    refused(path, World.closed("# hindmost.harvest.tenants/1\ntenant\ta\te\tNaN\t1\t1\t0\nhost\th\ta\n"), "tenant a: NaN");
    refused(path, World.closed("# hindmost.harvest.tenants/1\n"), "has no host");
    refused(path, World.closed("# hindmost.harvest.tenants/1\nclass\t0\tdaily\t0.1\t0.2\n"), ":2 is no class");
    refused(path, World.closed("# hindmost.harvest.tenants/1\nclass\t0\tperiodic\t-1\t0.2\n"), ":2 is no class: -1");
    Files.delete(path);
  }

  /** What a node manager's start says of a group that is none, and how a container joins one. */
  private static void lastInLine() throws Exception {
    Path folder = Files.createTempDirectory("groups");
    Path group = folder.resolve("batch");
    notBegun("", Keys.CGROUP + " is not set");
    notBegun(group.toString(), "cpu.idle is not there");
    Check.that(Files.notExists(group), "what was made for nothing is gone");
    notBegun(folder.resolve("nowhere/batch").toString(), "nowhere/batch");
    // As the kernel has them, as files.
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
    Check.that(run.waitFor() == 0 && pid.equals(Files.readString(joined)), "it begins in the group: " + asked);
    Files.delete(joined);
    Files.createDirectory(joined);
    Check.that(new ProcessBuilder(asked).start().waitFor() != 0, "who cannot join does not begin");
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

  private static void notBegun(String group, String why) {
    try {
      executor(group);
    } catch (IOException said) {
      Check.that(said.getMessage().contains(why), said.getMessage() + ": expected " + why);
      return;
    }
    throw new AssertionError("begun with the group '" + group + "'");
  }

  private static void refused(Path path, String text, String why) throws IOException {
    World.write(path, text);
    try {
      TenantsFile.read(path);
    } catch (IOException said) {
      Check.that(said.getMessage().contains(why), said.getMessage() + ": expected " + why);
      return;
    }
    throw new AssertionError("read: " + text);
  }

  private static void lastGood() throws Exception {
    Path path = Files.createTempFile("tenants", ".tsv");
    World.write(path, World.tenants(6));
    Files.setLastModifiedTime(path, java.nio.file.attribute.FileTime.fromMillis(System.currentTimeMillis() - 90_000));
    Configuration conf = new Configuration(false);
    conf.set(Keys.TENANTS_FILE, path.toString());
    conf.setInt(Keys.TENANTS_PERIOD, 0);
    Tenants tenants = new Tenants(conf);
    Tenants.State good = tenants.state();
    Check.that(Metrics.get().getTenantsAgeSeconds() >= 90, "a stale file is told by its age");
    long before = Metrics.get().getTenantsUnreadable();
    World.write(path, "torn");
    Check.that(tenants.state() == good && Metrics.get().getTenantsUnreadable() > before, "the last good is kept");
    Files.delete(path);
    Check.that(tenants.state() == good, "also where there is no file any more");
    World.write(path, World.tenants(4));
    Check.same(tenants.state().file.hosts.size(), 4, "hosts of the next good file");
    Files.delete(path);
    Check.that(new Tenants(conf).state() == null, "without any file placement is stock's");
  }

  private static void busyLast() {
    Configuration conf = new Configuration(false);
    conf.setClass("dfs.net.topology.impl", BusyTopology.class, DFSNetworkTopology.class);
    DFSNetworkTopology topology = DFSNetworkTopology.getInstance(conf);
    DatanodeDescriptor[] nodes = new DatanodeDescriptor[3];
    for (int at = 0; at < nodes.length; at++) {
      nodes[at] = new DatanodeDescriptor(new DatanodeID("10.0.0." + at, World.host(at), "u" + at, 1, 2, 3, 4), "/r" + at);
      topology.add(nodes[at]);
    }
    BusyBoard.get().heard(World.host(0), true, 0);
    Consumer<List<DatanodeDescriptor>> none = list -> { };
    List<Consumer<DatanodeDescriptor[]>> ways = List.of(
        all -> topology.sortByDistance(nodes[0], (Node[]) all, 3),
        all -> topology.sortByDistance(nodes[0], all, 3, none),
        all -> topology.sortByDistanceUsingNetworkLocation(nodes[0], (Node[]) all, 3),
        all -> topology.sortByDistanceUsingNetworkLocation(nodes[0], all, 3, none));
    for (int way = 0; way < ways.size(); way++) {
      DatanodeDescriptor[] all = nodes.clone();
      ways.get(way).accept(all);
      Check.that(all[2] == nodes[0], "way " + way + " of sorting: the reader's own node is busy, thus last");
    }
    BusyBoard.get().heard(World.host(0), true, 60_000);
    DatanodeDescriptor[] all = nodes.clone();
    topology.sortByDistance(nodes[0], (Node[]) all, 3);
    Check.that(all[0] == nodes[0], "what was heard a minute ago no longer counts");
  }

  private static void board() throws IOException {
    byte[] key = "the cluster's".getBytes(StandardCharsets.UTF_8);
    BusyBoard board = BusyBoard.get();
    board.close();
    board.listen(InetAddress.getLoopbackAddress(), 0, 5000, key);
    byte[] word = BusyBoard.word("a", true, 0, 10, key);
    Check.that(board.hear(word, word.length) && board.busy("a"), "a word with the key is heard");
    Check.that(!board.hear(word, word.length), "and not twice");
    for (byte[] other : List.of(BusyBoard.word("a", false, 0, 11, new byte[0]), BusyBoard.word("a", false, 0, 9, key),
        "a 0 0".getBytes(StandardCharsets.UTF_8), "a 0 0 12 ff".getBytes(StandardCharsets.UTF_8), new byte[512])) {
      Check.that(!board.hear(other, other.length) && board.busy("a"), "forged, late or broken words are not");
    }
    Check.that(board.busy("A."), "a host in other letters is the same host");
    byte[] old = BusyBoard.word("b", true, Long.MAX_VALUE, 1, key);
    Check.that(board.hear(old, old.length) && !board.busy("b"), "a word of any age is old");
    for (int at = 0; at < 2 * BusyBoard.MOST_HOSTS; at++) {
      board.heard("host" + at, true, 0);
    }
    Check.that(board.staleness().length <= BusyBoard.MOST_HOSTS, "a board holds so many hosts and no more");
    board.close();
  }

  private static void reserve() {
    ReserveKeeper keeper = new ReserveKeeper(null, 1.0 / 3, 0);
    Resource whole = Resource.newInstance(9000, 12);
    Check.same(keeper.left(whole, 0, 0), Resource.newInstance(6000, 8), "what a reserve leaves");
    Check.same(keeper.left(whole, 0.3, 100.5), Resource.newInstance(5899, 7), "what a tenant leaves");
    Check.same(keeper.left(whole, 11, 20_000), Resource.newInstance(0, 0), "what a full node leaves");
  }

  /** Nodes of two sizes, whatever yarn-default.xml says, through a shrink, a late report, a new keeper and a new node. */
  private static void sizes() throws Exception {
    Path file = Files.createTempDirectory("keeper").resolve("new/nodes");
    NodeId small = NodeId.newInstance("small", 1);
    NodeId large = NodeId.newInstance("large", 1);
    Resource eight = Resource.newInstance(8192, 8);
    Resource many = Resource.newInstance(65536, 32);
    NodeSizes sizes = new NodeSizes(file);
    Check.same(sizes.whole(small, eight), eight, "a node that was never told");
    sizes.tell(small, eight, Resource.newInstance(4000, 4));
    sizes.tell(large, many, Resource.newInstance(0, 0));
    sizes.tell(large, many, Resource.newInstance(9000, 3));
    sizes.write();
    for (NodeSizes each : List.of(sizes, new NodeSizes(file))) {
      Check.same(each.whole(small, Resource.newInstance(4000, 4)), eight, "a node that was shrunk");
      Check.same(each.whole(large, Resource.newInstance(9000, 3)), many, "a node that was shrunk twice");
      Check.same(each.whole(large, Resource.newInstance(0, 0)), many, "a report that is a round late");
      Check.same(each.whole(large, Resource.newInstance(1000, 16)), Resource.newInstance(1000, 16), "a node that began anew");
    }
    World.write(file, "small:1 8192\n");
    try {
      new NodeSizes(file);
      throw new AssertionError("a broken file is read");
    } catch (IOException said) {
      Check.that(said.getMessage().contains("not a file of node sizes"), said.getMessage());
    }
    PrimaryTenantCalculator calculator = new PrimaryTenantCalculator();
    Configuration defaults = new YarnConfiguration(); // its vcores are -1
    defaults.set("yarn.nodemanager.hostname", "HOST.example.com");
    Path load = Files.createTempDirectory("load");
    defaults.set(Keys.UTILISATION_FILE, load.resolve("%h.load").toString());
    World.write(load.resolve("host.load"), "0.5\n");
    calculator.setConf(defaults);
    Check.that(calculator.getNumVCoresUsed() == 4f, "of eight cores by default: " + calculator.getNumVCoresUsed());
  }

  private static void utilisation() throws Exception {
    Path path = Files.createTempFile("utilisation", ".load");
    World.write(path, "0.25 1500.5\n");
    Utilisation both = Utilisation.read(path);
    Check.that(both.cores == 0.25 && both.megabytes == 1500.5, "a share of cores and memory");
    World.write(path, "0.5\n");
    Check.that(Utilisation.read(path).cores == 0.5 && Utilisation.read(path).megabytes == 0, "cores alone");
    for (String wrong : List.of("", "busy", "-0.1", "NaN", "0.2 NaN", "0.2 -1", "0.2 1 2")) {
      World.write(path, wrong);
      try {
        Utilisation.read(path);
      } catch (IOException said) {
        Check.that(said.getMessage().contains("expected a share of cores"), said.getMessage());
        continue;
      }
      throw new AssertionError("read as a utilisation: " + wrong);
    }
    Files.delete(path);
    Resource whole = Resource.newInstance(9000, 12);
    Resource left = new ReserveKeeper(null, 0, 0).left(whole, Utilisation.ALL.cores * 12, Utilisation.ALL.megabytes);
    Check.same(left, Resource.newInstance(0, 0), "what is left where nothing is known");
  }

  /** First in the order by free cores: 6, 3 and none of 12. */
  private static void order() {
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
    Check.that(Math.abs(first[0] - rounds * 2 / 3.0) < 160, "of " + rounds + ", first were " + Arrays.toString(first));
  }

  /** First among a node of each pattern and one that nobody knows, all with as many free cores, by length of job. */
  private static void orderByClass() throws Exception {
    Path path = Files.createTempFile("tenants", ".tsv");
    StringBuilder text = new StringBuilder("# hindmost.harvest.tenants/1\n");
    String[] patterns = {"periodic", "constant", "unpredictable"};
    for (int at = 0; at < patterns.length; at++) {
      text.append(String.format("class\t%d\t%s\t0.25\t0.5\n", at, patterns[at]));
      text.append(String.format("tenant\tt%d\te%d\t1\t0.5\t1\t%d\n", at, at, at));
      text.append(String.format("host\t%s\tt%d\n", patterns[at], at));
    }
    World.write(path, World.closed(text.toString()));
    Configuration conf = new Configuration(false);
    conf.set(Keys.TENANTS_FILE, path.toString());
    conf.setDouble(Keys.RESERVE, 0.25);
    // Of 12 cores, 6 are free; what the past and the reserve leave: 9 of a short job, 6 of a medium one, 3 of a long one.
    first(conf, new HarvestNodeOrder.Short<>(), new double[] {6 * 3, 6, 6 * 9, 6});
    first(conf, new HarvestNodeOrder.Medium<>(), new double[] {6 * 9, 6 * 3, 6, 6});
    first(conf, new HarvestNodeOrder.Long<>(), new double[] {3 * 3, 3 * 9, 3, 6});
    first(conf, new HarvestNodeOrder<>(), new double[] {6, 6, 6, 6});
    conf.setDouble(Keys.RESERVE, 0.5);
    first(conf, new HarvestNodeOrder.Long<>(), new double[] {0, 0, 0, 6});
    Files.delete(path);
  }

  private static void first(Configuration conf, HarvestNodeOrder<FiCaSchedulerNode> policy, double[] weights) {
    policy.setConf(conf);
    FiCaSchedulerNode[] nodes =
        {node("periodic", 6), node("constant", 6), node("unpredictable", 6), node("nobody", 6)};
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
      Check.that(Math.abs(first[at] - rounds * share) <= error,
          policy.getClass().getSimpleName() + ": first were " + Arrays.toString(first) + ", weights "
              + Arrays.toString(weights));
    }
  }

  /** What a node manager says of its tenant, and what the keeper makes of it. */
  private static void reports() throws Exception {
    Path path = Files.createTempFile("host.example", ".load");
    Configuration conf = new Configuration(false);
    conf.set("yarn.nodemanager.hostname", path.getFileName().toString().replace(".load", ""));
    conf.set(Keys.UTILISATION_FILE, path.resolveSibling("%h.load").toString());
    conf.setInt("yarn.nodemanager.resource.cpu-vcores", 12);
    PrimaryTenantCalculator calculator = new PrimaryTenantCalculator();
    calculator.setConf(conf);
    Resource whole = Resource.newInstance(9000, 12);
    World.write(path, "0.25 1500\n");
    Utilisation said = PrimaryTenantCalculator.reported(report(calculator), whole);
    Check.that(said.cores == 0.25 && said.megabytes == 1500, "of the tenant: " + said.cores + ", " + said.megabytes);
    Files.delete(path);
    said = PrimaryTenantCalculator.reported(report(calculator), whole);
    Check.that(said.cores == 1 && said.megabytes > 1500, "a tenant that nobody knows uses all: " + said.cores);
    for (ResourceUtilization none : Arrays.asList(null, ResourceUtilization.newInstance(0, 0, 0f))) {
      Check.that(PrimaryTenantCalculator.reported(none, whole) == Utilisation.ALL, "no report yet is none");
    }
  }

  /** As a node manager makes it of what its calculator says. */
  private static ResourceUtilization report(PrimaryTenantCalculator calculator) {
    return ResourceUtilization.newInstance(
        (int) (calculator.getPhysicalMemorySize() - calculator.getAvailablePhysicalMemorySize() >> 20),
        (int) (calculator.getVirtualMemorySize() - calculator.getAvailableVirtualMemorySize() >> 20),
        calculator.getNumVCoresUsed());
  }

  /** What an order of many nodes costs: the free cores of each are looked at once. */
  private static void eachNodeIsAskedOnce() {
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
    Check.same(order.size(), 500, "nodes in an order");
    Check.same(asked.get(), 500L, "looks at free cores");
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
