package org.apache.hadoop.hdfs.server.blockmanagement;

import hindmost.hadoop.Check;
import hindmost.hadoop.Keys;
import hindmost.hadoop.Metrics;
import hindmost.hadoop.TestTenants;
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

/** Compares the placement policy with an oracle that tries all choices, and with stock, on nodes without a cluster. */
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
        deletionsKeepDiversity(seed);
        placementsMatchOracle(seed);
      }
      Check.that(compared > CASES / 10, "clusters compared with the oracle: " + compared);
      stripedGroupLosesOneReplica();
      scarceStorageTypeIsFound();
      favouredNodeGetsReplica();
      favouredStorageTypeIsExcess();
      hostNamesMatch();
      renamedNodeHasItsNewTenant();
      racksAndEnvironmentsAreRepaired();
    });
  }

  /** Add a node with a tenant of its own. */
  private DatanodeStorageInfo node(String host, String rack, int environment, StorageType type, long free) {
    int index = storages.size();
    DatanodeDescriptor node =
        new DatanodeDescriptor(new DatanodeID("10.0.0." + (index + 1), host, "u" + index, 9866, 9864, 9865, 9867), rack);
    DatanodeStorageInfo storage =
        new DatanodeStorageInfo(node, new DatanodeStorage("s" + index, DatanodeStorage.State.NORMAL, type));
    storage.setUtilizationForTesting(100 * GB, 100 * GB - free, free, 100 * GB - free);
    node.injectStorage(storage);
    node.setLastUpdate(Time.now());
    node.setLastUpdateMonotonic(Time.monotonicNow());
    topology.add(node);
    hosts.add(node);
    environments.put(node, environment);
    storages.add(storage);
    tenants.append(String.format("tenant\tt%d\te%d\t%s\t%s\t1\t-1%nhost\t%s\tt%d%n", index, environment, random.nextDouble(),
        random.nextDouble(), host, index));
    return storage;
  }

  private BlockPlacementPolicyDefault policy(Class<? extends BlockPlacementPolicyDefault> kind) throws Exception {
    Path path = Files.createTempFile("tenants", ".tsv");
    TestTenants.write(path, TestTenants.withChecksum(tenants.toString()));
    conf.set(Keys.TENANTS_FILE, path.toString());
    policy = kind.getDeclaredConstructor().newInstance();
    policy.initialize(conf, null, topology, hosts);
    Files.delete(path);
    return policy;
  }

  /** Create a small cluster with few racks and environments, so that the rules conflict. */
  private static PolicyMain newCluster(long seed, int nodes) {
    PolicyMain cluster = new PolicyMain(seed);
    int racks = 2 + cluster.random.nextInt(4);
    int environments = 2 + cluster.random.nextInt(4);
    for (int index = 0; index < nodes; index++) {
      StorageType type = cluster.random.nextInt(4) == 0 ? StorageType.SSD : StorageType.DISK;
      cluster.node("h" + index, "/r" + (index < 2 ? index : cluster.random.nextInt(racks)), cluster.random.nextInt(environments), type,
          cluster.random.nextInt(4) == 0 ? 0 : (1 + cluster.random.nextInt(90)) * GB);
    }
    return cluster;
  }

  private <T> int distinct(List<DatanodeStorageInfo> replicas, ToIntFunction<DatanodeDescriptor> key) {
    return (int) replicas.stream().mapToInt(one -> key.applyAsInt(one.getDatanodeDescriptor())).distinct().count();
  }

  private int racks(List<DatanodeStorageInfo> replicas) {
    return distinct(replicas, node -> node.getNetworkLocation().hashCode());
  }

  private int environments(List<DatanodeStorageInfo> replicas) {
    return distinct(replicas, environments::get);
  }

  private static <T> List<List<T>> subsets(List<T> all, int size) {
    List<List<T>> subsets = new ArrayList<>();
    for (int bits = 0; bits < 1 << all.size(); bits++) {
      if (Integer.bitCount(bits) == size) {
        List<T> one = new ArrayList<>();
        for (int index = 0; index < all.size(); index++) {
          if ((bits >> index & 1) == 1) {
            one.add(all.get(index));
          }
        }
        subsets.add(one);
      }
    }
    return subsets;
  }

  private BlockPlacementStatus verify(List<DatanodeStorageInfo> replicas) {
    return policy.verifyBlockPlacement(replicas.stream().map(DatanodeStorageInfo::getDatanodeDescriptor)
        .toArray(DatanodeInfo[]::new), replicas.size());
  }

  /** The remaining replicas have two racks if possible, and then as many environments as any choice would leave. */
  private static void deletionsKeepDiversity(long seed) throws Exception {
    PolicyMain cluster = newCluster(seed, 4 + (int) (seed % 4));
    cluster.policy(HarvestPlacementPolicy.class);
    List<DatanodeStorageInfo> all = cluster.storages;
    List<StorageType> excess = new ArrayList<>(all.stream().map(DatanodeStorageInfo::getStorageType).collect(Collectors.toList()));
    List<DatanodeStorageInfo> deleted =
        cluster.policy.chooseReplicasToDelete(all, new ArrayList<>(all), 3, excess, null, null);
    List<DatanodeStorageInfo> left = new ArrayList<>(all);
    left.removeAll(deleted);
    Check.same(left.size(), 3, "replicas left");
    Check.that(cluster.racks(left) >= 2, "the only replica of a rack was deleted, seed " + seed);
    int most = subsets(all, 3).stream().filter(one -> cluster.racks(one) >= 2).mapToInt(cluster::environments).max().getAsInt();
    Check.same(cluster.environments(left), most, "environments left, seed " + seed);
  }

  /**
   * Replicas are on nodes that stock allows, in as many environments as any such choice has. After two replicas on one
   * rack, an environment on that rack alone may be out of reach: then verify reports it and the name node repairs the
   * block.
   */
  private static void placementsMatchOracle(long seed) throws Exception {
    PolicyMain cluster = newCluster(seed, 12);
    for (DatanodeStorageInfo one : cluster.storages) {
      if (cluster.random.nextInt(6) == 0) {
        one.getDatanodeDescriptor().startDecommission();
      }
    }
    cluster.policy(HarvestPlacementPolicy.class);
    int most = cluster.policy.getMaxNodesPerRack(0, 3)[1];
    List<DatanodeStorageInfo> possible = cluster.storages.stream().filter(one -> one.getRemaining() > 0
        && one.getStorageType() == StorageType.DISK && one.getDatanodeDescriptor().isInService()).collect(Collectors.toList());
    List<List<DatanodeStorageInfo>> choices = subsets(possible, 3).stream().filter(one -> one.stream()
        .collect(Collectors.groupingBy(each -> each.getDatanodeDescriptor().getNetworkLocation())).values().stream()
        .allMatch(each -> each.size() <= most)).collect(Collectors.toList());
    if (choices.isEmpty()) {
      return;
    }
    List<DatanodeStorageInfo> chosen = cluster.place(3, "HOT", List.of());
    Check.same(chosen.size(), 3, "replicas, seed " + seed);
    Check.that(possible.containsAll(chosen), "a node is not possible, seed " + seed);
    if (possible.stream().collect(Collectors.groupingBy(one -> cluster.environments.get(one.getDatanodeDescriptor())))
        .values().stream().allMatch(replicas -> cluster.racks(replicas) > 1)) {
      Check.same(cluster.environments(chosen), choices.stream().mapToInt(cluster::environments).max().getAsInt(),
          "environments, seed " + seed);
      Check.that(cluster.verify(chosen).isPlacementPolicySatisfied(), "the policy rejects its own placement, seed " + seed);
      compared++;
    }
  }

  private List<DatanodeStorageInfo> place(int replicas, String storagePolicy, List<DatanodeDescriptor> favoured) {
    BlockStoragePolicy types = POLICIES.getPolicy(storagePolicy);
    return Arrays.asList(policy.chooseTarget("/f", replicas, null, new HashSet<>(), GB, favoured, types,
        EnumSet.noneOf(org.apache.hadoop.hdfs.AddBlockFlag.class)));
  }

  /** An internal block of an erasure-coded group is on two nodes: the policy deletes one of the two. */
  private static void stripedGroupLosesOneReplica() throws Exception {
    PolicyMain cluster = new PolicyMain(1);
    for (int index = 0; index < 11; index++) {
      cluster.node("h" + index, "/r" + index % 2, index, StorageType.DISK, GB);
    }
    cluster.policy(HarvestPlacementPolicy.class);
    List<DatanodeStorageInfo> candidates = new ArrayList<>(List.of(cluster.storages.get(0), cluster.storages.get(9)));
    List<DatanodeStorageInfo> deleted = cluster.policy.chooseReplicasToDelete(cluster.storages, candidates, 1,
        new ArrayList<>(List.of(StorageType.DISK, StorageType.DISK)), null, null);
    Check.that(deleted.size() == 1 && candidates.containsAll(deleted), "deleted: " + deleted);
  }

  /**
   * Only few nodes have the storage type. The policy finds them, and does not require a third environment without the
   * type.
   */
  private static void scarceStorageTypeIsFound() throws Exception {
    PolicyMain cluster = new PolicyMain(2);
    for (int index = 0; index < 200; index++) {
      cluster.node("h" + index, "/r" + index % 4, index % 30, index % 30 < 2 && index < 60 ? StorageType.SSD : StorageType.DISK, 50 * GB);
    }
    cluster.policy(HarvestPlacementPolicy.class);
    long before = Metrics.get().getFallbacks();
    for (int block = 0; block < 20; block++) {
      List<DatanodeStorageInfo> chosen = cluster.place(3, "ALL_SSD", List.of());
      Check.that(chosen.stream().allMatch(one -> one.getStorageType() == StorageType.SSD), "types: " + chosen);
      Check.same(cluster.environments(chosen), 2, "environments with the type");
      Check.that(cluster.verify(chosen).isPlacementPolicySatisfied(), "no third environment has the storage type");
    }
    Check.same(Metrics.get().getFallbacks(), before, "choices left to stock");
  }

  private static void favouredNodeGetsReplica() throws Exception {
    PolicyMain cluster = new PolicyMain(3);
    for (int index = 0; index < 18; index++) {
      cluster.node("h" + index, "/r" + index % 6, index % 3, StorageType.DISK, 50 * GB);
    }
    cluster.policy(HarvestPlacementPolicy.class);
    for (DatanodeStorageInfo one : cluster.storages) {
      List<DatanodeStorageInfo> chosen = cluster.place(3, "HOT", List.of(one.getDatanodeDescriptor()));
      Check.that(chosen.contains(one), "the favoured node has a replica");
      Check.same(cluster.environments(chosen), 3, "environments");
    }
  }

  /** The replica whose removal costs the least diversity has a type that must stay. */
  private static void favouredStorageTypeIsExcess() throws Exception {
    PolicyMain cluster = new PolicyMain(4);
    cluster.node("h0", "/r0", 0, StorageType.SSD, 50 * GB);
    cluster.node("h1", "/r1", 0, StorageType.SSD, 50 * GB);
    cluster.node("h2", "/r2", 1, StorageType.DISK, 50 * GB);
    cluster.node("h3", "/r3", 2, StorageType.DISK, 50 * GB);
    cluster.policy(HarvestPlacementPolicy.class);
    List<DatanodeStorageInfo> deleted = cluster.policy.chooseReplicasToDelete(cluster.storages, new ArrayList<>(cluster.storages),
        3, new ArrayList<>(List.of(StorageType.DISK)), null, null);
    Check.that(deleted.size() == 1 && deleted.get(0).getStorageType() == StorageType.DISK, "deleted: " + deleted);
  }

  /** Hosts with other spellings than in the file of tenants are the same hosts; unknown hosts are counted. */
  private static void hostNamesMatch() throws Exception {
    String[][] written = {{"h0", "h1", "h2", "h3"}, {"h0.example.com", "h1.example.com", "h2.example.com", "h3.example.com"},
        {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"}};
    String[][] registered = {{"h0", "H1", "h2.example.com", "h3."}, {"H0.Example.com", "h1", "h2.example.com", "H3"},
        {"h0", "a", "b", "c"}};
    for (int index = 0; index < written.length; index++) {
      PolicyMain cluster = new PolicyMain(5);
      for (int host = 0; host < 4; host++) {
        cluster.node(registered[index][host], "/r" + host % 2, host < 3 ? 0 : 1, StorageType.DISK, 50 * GB);
        int from = cluster.tenants.lastIndexOf("host\t");
        cluster.tenants.replace(from, cluster.tenants.length(), String.format("host\t%s\tt%d%n", written[index][host], host));
      }
      cluster.policy(HarvestPlacementPolicy.class);
      Check.same(cluster.verify(cluster.storages.subList(0, 3)).getAdditionalReplicasRequired(), 1,
          "replicas that one environment needs, case " + index);
      Check.same(Metrics.get().getUnknownHosts(), 0, "unknown hosts, case " + index);
    }
    PolicyMain cluster = new PolicyMain(6);
    for (int host = 0; host < 4; host++) {
      cluster.node("h0." + host, "/r" + host % 2, 0, StorageType.DISK, 50 * GB);
    }
    cluster.topology.add(new DatanodeDescriptor(new DatanodeID("10.0.1.1", "h0", "x", 1, 2, 3, 4), "/r0"));
    cluster.policy(HarvestPlacementPolicy.class);
    cluster.verify(cluster.storages.subList(0, 2));
    Check.same(Metrics.get().getUnknownHosts(), 1, "a short name of four hosts matches none");
  }

  /** A node returns under the name of a host of another tenant. */
  private static void renamedNodeHasItsNewTenant() throws Exception {
    PolicyMain cluster = new PolicyMain(7);
    for (int index = 0; index < 4; index++) {
      cluster.node("h" + index, "/r" + index % 2, index, StorageType.DISK, 50 * GB);
    }
    cluster.tenants.append("host\tother\tt1\n");
    cluster.policy(HarvestPlacementPolicy.class);
    cluster.place(3, "HOT", List.of());
    DatanodeDescriptor node = cluster.storages.get(0).getDatanodeDescriptor();
    cluster.topology.remove(node);
    node.updateRegInfo(new DatanodeID(node.getIpAddr(), "other", node.getDatanodeUuid(), 9866, 9864, 9865, 9867));
    cluster.topology.add(node);
    cluster.environments.put(node, 1);
    for (int block = 0; block < 50; block++) {
      List<DatanodeStorageInfo> chosen = cluster.place(3, "HOT", List.of());
      Check.same(cluster.environments(chosen), 3, "environments");
    }
  }

  /** Both rules are violated: the number of requested replicas must repair both, otherwise the name node adds none. */
  private static void racksAndEnvironmentsAreRepaired() throws Exception {
    PolicyMain cluster = new PolicyMain(8);
    for (int index = 0; index < 6; index++) {
      cluster.node("h" + index, index < 4 ? "/r0" : "/r1", index < 3 ? 0 : index - 2, StorageType.DISK, 50 * GB);
    }
    cluster.policy(HarvestPlacementPolicy.class);
    BlockPlacementStatus status = cluster.verify(cluster.storages.subList(0, 3));
    Check.that(!status.isPlacementPolicySatisfied(), "one rack and one environment");
    Check.same(status.getAdditionalReplicasRequired(), 2, "replicas to add");
  }
}
