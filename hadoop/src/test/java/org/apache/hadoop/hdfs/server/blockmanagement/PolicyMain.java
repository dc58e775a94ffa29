package org.apache.hadoop.hdfs.server.blockmanagement;

import hindmost.hadoop.Check;
import hindmost.hadoop.Keys;
import hindmost.hadoop.Metrics;
import hindmost.hadoop.World;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.net.DFSNetworkTopology;
import org.apache.hadoop.hdfs.protocol.BlockStoragePolicy;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorage;
import org.apache.hadoop.net.NetworkTopology;
import org.apache.hadoop.util.Time;

/** The placement policy beside an oracle that tries everything, and beside stock, on nodes without a cluster. */
public final class PolicyMain {
  private static final long GB = 1L << 30;
  private static final int CASES = 400;
  private static final BlockStoragePolicySuite POLICIES = BlockStoragePolicySuite.createDefaultSuite();

  private static int compared;
  private final Random random;
  private final NetworkTopology topology;
  private final Host2NodesMap hosts = new Host2NodesMap();
  private final Map<DatanodeInfo, Integer> environments = new HashMap<>();
  private final List<DatanodeStorageInfo> storages = new ArrayList<>();
  private final StringBuilder tenants = new StringBuilder("# hindmost.harvest.tenants/1\n");
  private final Configuration conf = new Configuration(false);
  private BlockPlacementPolicyDefault policy;

  private PolicyMain(long seed) {
    random = new Random(seed);
    conf.setBoolean("dfs.namenode.redundancy.considerLoad", false);
    topology = DFSNetworkTopology.getInstance(conf);
  }

  public static void main(String[] arguments) {
    Check.main("placement policy", () -> {
      for (int seed = 0; seed < CASES; seed++) {
        deletes(seed);
        places(seed);
      }
      Check.that(compared > CASES / 10, "clusters compared with the oracle: " + compared);
      stripedDeletesOne();
      ssdOnly();
      favoured();
      favouredStorageTypeIsExcess();
      names();
      renamed();
      racksAndEnvironments();
    });
  }

  /** A tenant of its own for each environment and rank. */
  private DatanodeStorageInfo node(String host, String rack, int environment, StorageType type, long free) {
    int at = storages.size();
    DatanodeDescriptor node =
        new DatanodeDescriptor(new DatanodeID("10.0.0." + (at + 1), host, "u" + at, 9866, 9864, 9865, 9867), rack);
    DatanodeStorageInfo storage =
        new DatanodeStorageInfo(node, new DatanodeStorage("s" + at, DatanodeStorage.State.NORMAL, type));
    storage.setUtilizationForTesting(100 * GB, 100 * GB - free, free, 100 * GB - free);
    node.injectStorage(storage);
    node.setLastUpdate(Time.now());
    node.setLastUpdateMonotonic(Time.monotonicNow());
    topology.add(node);
    hosts.add(node);
    environments.put(node, environment);
    storages.add(storage);
    tenants.append(String.format("tenant\tt%d\te%d\t%s\t%s\t1\t-1%nhost\t%s\tt%d%n", at, environment, random.nextDouble(),
        random.nextDouble(), host, at));
    return storage;
  }

  private BlockPlacementPolicyDefault policy(Class<? extends BlockPlacementPolicyDefault> kind) throws Exception {
    Path path = Files.createTempFile("tenants", ".tsv");
    World.write(path, World.closed(tenants.toString()));
    conf.set(Keys.TENANTS_FILE, path.toString());
    policy = kind.getDeclaredConstructor().newInstance();
    policy.initialize(conf, null, topology, hosts);
    Files.delete(path);
    return policy;
  }

  /** A small cluster with few racks and environments, so that rules collide. */
  private static PolicyMain cluster(long seed, int nodes) {
    PolicyMain made = new PolicyMain(seed);
    int racks = 2 + made.random.nextInt(4);
    int environments = 2 + made.random.nextInt(4);
    for (int at = 0; at < nodes; at++) {
      StorageType type = made.random.nextInt(4) == 0 ? StorageType.SSD : StorageType.DISK;
      made.node("h" + at, "/r" + (at < 2 ? at : made.random.nextInt(racks)), made.random.nextInt(environments), type,
          made.random.nextInt(4) == 0 ? 0 : (1 + made.random.nextInt(90)) * GB);
    }
    return made;
  }

  private <T> int distinct(List<DatanodeStorageInfo> some, ToIntFunction<DatanodeDescriptor> of) {
    return (int) some.stream().mapToInt(one -> of.applyAsInt(one.getDatanodeDescriptor())).distinct().count();
  }

  private int racks(List<DatanodeStorageInfo> some) {
    return distinct(some, node -> node.getNetworkLocation().hashCode());
  }

  private int environments(List<DatanodeStorageInfo> some) {
    return distinct(some, environments::get);
  }

  private static <T> List<List<T>> subsets(List<T> all, int size) {
    List<List<T>> found = new ArrayList<>();
    for (int bits = 0; bits < 1 << all.size(); bits++) {
      if (Integer.bitCount(bits) == size) {
        List<T> one = new ArrayList<>();
        for (int at = 0; at < all.size(); at++) {
          if ((bits >> at & 1) == 1) {
            one.add(all.get(at));
          }
        }
        found.add(one);
      }
    }
    return found;
  }

  private BlockPlacementStatus verify(List<DatanodeStorageInfo> of) {
    return policy.verifyBlockPlacement(of.stream().map(DatanodeStorageInfo::getDatanodeDescriptor)
        .toArray(DatanodeInfo[]::new), of.size());
  }

  /** What is left has two racks where it can, and then as many environments as any choice would leave. */
  private static void deletes(long seed) throws Exception {
    PolicyMain made = cluster(seed, 4 + (int) (seed % 4));
    made.policy(HarvestPlacementPolicy.class);
    List<DatanodeStorageInfo> all = made.storages;
    List<StorageType> excess = new ArrayList<>(all.stream().map(DatanodeStorageInfo::getStorageType).collect(Collectors.toList()));
    List<DatanodeStorageInfo> deleted =
        made.policy.chooseReplicasToDelete(all, new ArrayList<>(all), 3, excess, null, null);
    List<DatanodeStorageInfo> left = new ArrayList<>(all);
    left.removeAll(deleted);
    Check.same(left.size(), 3, "replicas left");
    Check.that(made.racks(left) >= 2, "the only replica of a rack was deleted, seed " + seed);
    int most = subsets(all, 3).stream().filter(one -> made.racks(one) >= 2).mapToInt(made::environments).max().getAsInt();
    Check.same(made.environments(left), most, "environments left, seed " + seed);
  }

  /**
   * Replicas are on nodes that stock would take, in as many environments as any such choice has. An environment on one
   * rack may be out of reach after two replicas there: then the name node repairs the block, as verify says.
   */
  private static void places(long seed) throws Exception {
    PolicyMain made = cluster(seed, 12);
    for (DatanodeStorageInfo one : made.storages) {
      if (made.random.nextInt(6) == 0) {
        one.getDatanodeDescriptor().startDecommission();
      }
    }
    made.policy(HarvestPlacementPolicy.class);
    int most = made.policy.getMaxNodesPerRack(0, 3)[1];
    List<DatanodeStorageInfo> possible = made.storages.stream().filter(one -> one.getRemaining() > 0
        && one.getStorageType() == StorageType.DISK && one.getDatanodeDescriptor().isInService()).collect(Collectors.toList());
    List<List<DatanodeStorageInfo>> choices = subsets(possible, 3).stream().filter(one -> one.stream()
        .collect(Collectors.groupingBy(each -> each.getDatanodeDescriptor().getNetworkLocation())).values().stream()
        .allMatch(each -> each.size() <= most)).collect(Collectors.toList());
    if (choices.isEmpty()) {
      return;
    }
    List<DatanodeStorageInfo> found = made.place(3, "HOT", List.of());
    Check.same(found.size(), 3, "replicas, seed " + seed);
    Check.that(possible.containsAll(found), "a node is not possible, seed " + seed);
    if (possible.stream().collect(Collectors.groupingBy(one -> made.environments.get(one.getDatanodeDescriptor())))
        .values().stream().allMatch(own -> made.racks(own) > 1)) {
      Check.same(made.environments(found), choices.stream().mapToInt(made::environments).max().getAsInt(),
          "environments, seed " + seed);
      Check.that(made.verify(found).isPlacementPolicySatisfied(), "its own placement is misplaced, seed " + seed);
      compared++;
    }
  }

  private List<DatanodeStorageInfo> place(int replicas, String storagePolicy, List<DatanodeDescriptor> favoured) {
    BlockStoragePolicy types = POLICIES.getPolicy(storagePolicy);
    return Arrays.asList(policy.chooseTarget("/f", replicas, null, new HashSet<>(), GB, favoured, types,
        EnumSet.noneOf(org.apache.hadoop.hdfs.AddBlockFlag.class)));
  }

  /** An internal block of an erasure-coded group is on two nodes: one of the two goes. */
  private static void stripedDeletesOne() throws Exception {
    PolicyMain made = new PolicyMain(1);
    for (int at = 0; at < 11; at++) {
      made.node("h" + at, "/r" + at % 2, at, StorageType.DISK, GB);
    }
    made.policy(HarvestPlacementPolicy.class);
    List<DatanodeStorageInfo> candidates = new ArrayList<>(List.of(made.storages.get(0), made.storages.get(9)));
    List<DatanodeStorageInfo> deleted = made.policy.chooseReplicasToDelete(made.storages, candidates, 1,
        new ArrayList<>(List.of(StorageType.DISK, StorageType.DISK)), null, null);
    Check.that(deleted.size() == 1 && candidates.containsAll(deleted), "deleted: " + deleted);
  }

  /** Few nodes have the storage type: they are found, and a third environment without any is not missed. */
  private static void ssdOnly() throws Exception {
    PolicyMain made = new PolicyMain(2);
    for (int at = 0; at < 200; at++) {
      made.node("h" + at, "/r" + at % 4, at % 30, at % 30 < 2 && at < 60 ? StorageType.SSD : StorageType.DISK, 50 * GB);
    }
    made.policy(HarvestPlacementPolicy.class);
    long before = Metrics.get().getFallbacks();
    for (int block = 0; block < 20; block++) {
      List<DatanodeStorageInfo> found = made.place(3, "ALL_SSD", List.of());
      Check.that(found.stream().allMatch(one -> one.getStorageType() == StorageType.SSD), "types: " + found);
      Check.same(made.environments(found), 2, "environments that have the type");
      Check.that(made.verify(found).isPlacementPolicySatisfied(), "a third environment has no such storage");
    }
    Check.same(Metrics.get().getFallbacks(), before, "choices left to stock");
  }

  private static void favoured() throws Exception {
    PolicyMain made = new PolicyMain(3);
    for (int at = 0; at < 18; at++) {
      made.node("h" + at, "/r" + at % 6, at % 3, StorageType.DISK, 50 * GB);
    }
    made.policy(HarvestPlacementPolicy.class);
    for (DatanodeStorageInfo one : made.storages) {
      List<DatanodeStorageInfo> found = made.place(3, "HOT", List.of(one.getDatanodeDescriptor()));
      Check.that(found.contains(one), "the favoured node has a replica");
      Check.same(made.environments(found), 3, "environments");
    }
  }

  /** The replica whose removal costs least diversity is of a type that must stay. */
  private static void favouredStorageTypeIsExcess() throws Exception {
    PolicyMain made = new PolicyMain(4);
    made.node("h0", "/r0", 0, StorageType.SSD, 50 * GB);
    made.node("h1", "/r1", 0, StorageType.SSD, 50 * GB);
    made.node("h2", "/r2", 1, StorageType.DISK, 50 * GB);
    made.node("h3", "/r3", 2, StorageType.DISK, 50 * GB);
    made.policy(HarvestPlacementPolicy.class);
    List<DatanodeStorageInfo> deleted = made.policy.chooseReplicasToDelete(made.storages, new ArrayList<>(made.storages),
        3, new ArrayList<>(List.of(StorageType.DISK)), null, null);
    Check.that(deleted.size() == 1 && deleted.get(0).getStorageType() == StorageType.DISK, "deleted: " + deleted);
  }

  /** Hosts under other names than in the file of tenants are the same hosts; strangers are counted. */
  private static void names() throws Exception {
    String[][] written = {{"h0", "h1", "h2", "h3"}, {"h0.example.com", "h1.example.com", "h2.example.com", "h3.example.com"},
        {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"}};
    String[][] registered = {{"h0", "H1", "h2.example.com", "h3."}, {"H0.Example.com", "h1", "h2.example.com", "H3"},
        {"h0", "a", "b", "c"}};
    for (int at = 0; at < written.length; at++) {
      PolicyMain made = new PolicyMain(5);
      for (int host = 0; host < 4; host++) {
        made.node(registered[at][host], "/r" + host % 2, host < 3 ? 0 : 1, StorageType.DISK, 50 * GB);
        int from = made.tenants.lastIndexOf("host\t");
        made.tenants.replace(from, made.tenants.length(), String.format("host\t%s\tt%d%n", written[at][host], host));
      }
      made.policy(HarvestPlacementPolicy.class);
      Check.same(made.verify(made.storages.subList(0, 3)).getAdditionalReplicasRequired(), 1,
          "replicas that one environment needs, case " + at);
      Check.same(Metrics.get().getUnknownHosts(), 0, "unknown hosts, case " + at);
    }
    PolicyMain made = new PolicyMain(6);
    for (int host = 0; host < 4; host++) {
      made.node("h0." + host, "/r" + host % 2, 0, StorageType.DISK, 50 * GB);
    }
    made.topology.add(new DatanodeDescriptor(new DatanodeID("10.0.1.1", "h0", "x", 1, 2, 3, 4), "/r0"));
    made.policy(HarvestPlacementPolicy.class);
    made.verify(made.storages.subList(0, 2));
    Check.same(Metrics.get().getUnknownHosts(), 1, "a short name of four hosts is of none");
  }

  /** A node comes back under the name of a host that another tenant owns. */
  private static void renamed() throws Exception {
    PolicyMain made = new PolicyMain(7);
    for (int at = 0; at < 4; at++) {
      made.node("h" + at, "/r" + at % 2, at, StorageType.DISK, 50 * GB);
    }
    made.tenants.append("host\tother\tt1\n");
    made.policy(HarvestPlacementPolicy.class);
    made.place(3, "HOT", List.of());
    DatanodeDescriptor node = made.storages.get(0).getDatanodeDescriptor();
    made.topology.remove(node);
    node.updateRegInfo(new DatanodeID(node.getIpAddr(), "other", node.getDatanodeUuid(), 9866, 9864, 9865, 9867));
    made.topology.add(node);
    made.environments.put(node, 1);
    for (int block = 0; block < 50; block++) {
      List<DatanodeStorageInfo> found = made.place(3, "HOT", List.of());
      Check.same(made.environments(found), 3, "environments");
    }
  }

  /** Both rules are broken: as many replicas are asked for as mend both, or the name node adds none. */
  private static void racksAndEnvironments() throws Exception {
    PolicyMain made = new PolicyMain(8);
    for (int at = 0; at < 6; at++) {
      made.node("h" + at, at < 4 ? "/r0" : "/r1", at < 3 ? 0 : at - 2, StorageType.DISK, 50 * GB);
    }
    made.policy(HarvestPlacementPolicy.class);
    BlockPlacementStatus status = made.verify(made.storages.subList(0, 3));
    Check.that(!status.isPlacementPolicySatisfied(), "one rack and one environment");
    Check.same(status.getAdditionalReplicasRequired(), 2, "replicas to add");
  }
}
