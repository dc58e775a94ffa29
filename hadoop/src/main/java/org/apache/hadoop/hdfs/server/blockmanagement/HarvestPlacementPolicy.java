package org.apache.hadoop.hdfs.server.blockmanagement;

import hindmost.hadoop.BusyBoard;
import hindmost.hadoop.Keys;
import hindmost.hadoop.Metrics;
import hindmost.hadoop.Placer;
import hindmost.hadoop.Sequence;
import hindmost.hadoop.Tenants;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.AddBlockFlag;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.protocol.BlockStoragePolicy;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.net.NetworkTopology;
import org.apache.hadoop.net.Node;
import org.apache.hadoop.net.NodeBase;

/**
 * Places replicas on different tenants: dfs.block.replicator.classname. Stock decides which nodes and storages are
 * possible (in service, fresh, not loaded, with room for a block of the type, below the limit of replicas per rack),
 * and decides everything if no tenant is known. The class is in Hadoop's package because it overrides package-private
 * methods.
 */
public class HarvestPlacementPolicy extends BlockPlacementPolicyDefault {
  private Tenants tenants;
  private FSClusterStats stats;
  private long staleMillis;
  private long blockSize;
  private long periodNanos;
  private volatile ClusterNodes clusterNodes = new ClusterNodes(null, -1, List.of());
  /** Replicas of the current block on favoured nodes: stock excludes these nodes without naming them. */
  private final ThreadLocal<List<DatanodeStorageInfo>> favoured = ThreadLocal.withInitial(List::of);

  /** The nodes of the cluster under one version of the file of tenants. */
  private static final class ClusterNodes {
    final Tenants.State state;
    final int leaves;
    final long readNanos = System.nanoTime();
    /** Nodes by number of the server; null if a server is not in the cluster. */
    final DatanodeDescriptor[] nodes;
    /** Nodes of each environment. */
    final Collection<List<DatanodeDescriptor>> environments;

    ClusterNodes(Tenants.State state, int leaves, List<DatanodeDescriptor> all) {
      this.state = state;
      this.leaves = leaves;
      nodes = new DatanodeDescriptor[state == null ? 0 : state.file.hosts.size()];
      for (DatanodeDescriptor node : all) {
        int server = server(state, node);
        if (server >= 0) {
          nodes[server] = node;
        }
      }
      environments = Arrays.stream(nodes).filter(node -> node != null)
          .collect(Collectors.groupingBy(node -> environment(state, node))).values();
    }
  }

  @Override public void initialize(Configuration conf, FSClusterStats stats, NetworkTopology clusterMap,
      Host2NodesMap host2datanodeMap) {
    super.initialize(conf, stats, clusterMap, host2datanodeMap);
    this.stats = stats;
    staleMillis = conf.getLong(DFSConfigKeys.DFS_NAMENODE_STALE_DATANODE_INTERVAL_KEY,
        DFSConfigKeys.DFS_NAMENODE_STALE_DATANODE_INTERVAL_DEFAULT);
    blockSize = conf.getLongBytes(DFSConfigKeys.DFS_BLOCK_SIZE_KEY, DFSConfigKeys.DFS_BLOCK_SIZE_DEFAULT);
    periodNanos = conf.getInt(Keys.TENANTS_PERIOD, Keys.TENANTS_PERIOD_DEFAULT) * 1_000_000L;
    tenants = new Tenants(conf);
  }

  @Override DatanodeStorageInfo[] chooseTarget(String src, int numOfReplicas, Node writer, Set<Node> excludedNodes,
      long blocksize, List<DatanodeDescriptor> favoredNodes, BlockStoragePolicy storagePolicy,
      EnumSet<AddBlockFlag> flags) {
    try {
      return super.chooseTarget(src, numOfReplicas, writer, excludedNodes, blocksize, favoredNodes, storagePolicy, flags);
    } finally {
      favoured.remove();
    }
  }

  @Override protected void chooseFavouredNodes(String src, int numOfReplicas, List<DatanodeDescriptor> favoredNodes,
      Set<Node> favoriteAndExcludedNodes, long blocksize, int maxNodesPerRack, List<DatanodeStorageInfo> results,
      boolean avoidStaleNodes, EnumMap<StorageType, Integer> storageTypes) throws NotEnoughReplicasException {
    super.chooseFavouredNodes(src, numOfReplicas, favoredNodes, favoriteAndExcludedNodes, blocksize, maxNodesPerRack,
        results, avoidStaleNodes, storageTypes);
    favoured.set(List.copyOf(results));
  }

  @Override protected Node chooseTargetInOrder(int numOfReplicas, Node writer, Set<Node> excludedNodes,
      long blocksize, int maxNodesPerRack, List<DatanodeStorageInfo> results, boolean avoidStaleNodes,
      boolean newBlock, EnumMap<StorageType, Integer> storageTypes) throws NotEnoughReplicasException {
    Tenants.State state = tenants.state();
    if (state == null) {
      return super.chooseTargetInOrder(numOfReplicas, writer, excludedNodes, blocksize, maxNodesPerRack, results,
          avoidStaleNodes, newBlock, storageTypes);
    }
    long started = System.nanoTime();
    int wanted = results.size() + numOfReplicas;
    if (results.isEmpty() && writer instanceof DatanodeDescriptor && server(state, (DatanodeDescriptor) writer) >= 0
        && !busy((DatanodeDescriptor) writer)) {
      chooseLocalStorage(writer, excludedNodes, blocksize, maxNodesPerRack, results, avoidStaleNodes, storageTypes,
          false);
    }
    BitSet refused = new BitSet(); // a node that stock refused stays refused: replicas on a rack only grow
    while (results.size() < wanted
        && chooseOne(state, refused, excludedNodes, blocksize, maxNodesPerRack, results, avoidStaleNodes, newBlock,
            storageTypes)) {
      // Each call adds one replica.
    }
    Metrics.get().recordChoice(System.nanoTime() - started);
    if (results.size() < wanted) {
      Metrics.get().fallbacks.increment();
      return super.chooseTargetInOrder(wanted - results.size(), writer, excludedNodes, blocksize, maxNodesPerRack,
          results, avoidStaleNodes, newBlock && results.isEmpty(), storageTypes);
    }
    return writer;
  }

  /**
   * Add one replica by the grid, of the first wanted storage type that a possible node has. Return false if there is no
   * such node.
   */
  private boolean chooseOne(Tenants.State state, BitSet refused, Set<Node> excludedNodes, long blocksize,
      int maxNodesPerRack, List<DatanodeStorageInfo> results, boolean avoidStaleNodes, boolean newBlock,
      EnumMap<StorageType, Integer> storageTypes) {
    ClusterNodes current = clusterNodes(state);
    int[] chosen = servers(state, Stream.concat(favoured.get().stream(), results.stream())
        .map(DatanodeStorageInfo::getDatanodeDescriptor));
    for (StorageType type : storageTypes.keySet()) {
      Sequence random = new Sequence(ThreadLocalRandom.current().nextLong());
      Placer.Choice choice = state.placer.choose(chosen, !newBlock, random, server -> {
        DatanodeDescriptor node = current.nodes[server];
        if (node == null || refused.get(server) || excludedNodes.contains(node)) {
          return false;
        }
        if (!isKnown(state, server, node) || busy(node)
            || !isGoodDatanode(node, maxNodesPerRack, considerLoad, results, avoidStaleNodes)) {
          refused.set(server);
          return false;
        }
        return node.chooseStorage4Block(type, blocksize, getMinBlocksForWrite()) != null;
      });
      if (choice != null) {
        DatanodeDescriptor node = current.nodes[choice.server];
        chooseStorage4Block(node, blocksize, results, type);
        addToExcludedNodes(node, excludedNodes);
        storageTypes.computeIfPresent(type, (key, number) -> number == 1 ? null : number - 1);
        Metrics.get().placed[choice.level].increment();
        return true;
      }
    }
    return false;
  }

  /** Return whether a node is still in the cluster under its name; if not, the next choice reads all nodes again. */
  private boolean isKnown(Tenants.State state, int server, DatanodeDescriptor node) {
    boolean known = server(state, node) == server && clusterMap.contains(node);
    if (!known) {
      clusterNodes = new ClusterNodes(null, -1, List.of());
    }
    return known;
  }

  private static boolean busy(DatanodeInfo node) {
    return BusyBoard.get().busy(node.getHostName());
  }

  /** Return the number of a host. An unknown host gets a negative number of its own, which no tenant has. */
  private static int server(Tenants.State state, DatanodeInfo node) {
    int known = state.server(node.getHostName(), node.getPeerHostName(), node.getIpAddr());
    return known >= 0 ? known : -2 - Math.abs(node.getHostName().hashCode() % 1_000_000);
  }

  private static int[] servers(Tenants.State state, Stream<? extends DatanodeInfo> nodes) {
    return nodes.mapToInt(node -> server(state, node)).toArray();
  }

  private static int environment(Tenants.State state, DatanodeInfo node) {
    return state.file.tenants.get(state.placer.tenantOf(server(state, node))).environment;
  }

  /**
   * Return the nodes of the cluster. Read them again when their number or the file of tenants changed, and once per
   * period.
   */
  private ClusterNodes clusterNodes(Tenants.State state) {
    ClusterNodes cached = clusterNodes;
    int leaves = clusterMap.getNumOfLeaves();
    if (cached.state != state || cached.leaves != leaves
        || System.nanoTime() - cached.readNanos > periodNanos) {
      List<DatanodeDescriptor> all = clusterMap.getLeaves(NodeBase.ROOT).stream()
          .filter(DatanodeDescriptor.class::isInstance).map(DatanodeDescriptor.class::cast)
          .collect(Collectors.toList());
      cached = new ClusterNodes(state, leaves, all);
      clusterNodes = cached;
      state.noteUnknown(all.stream().filter(node -> server(state, node) < 0).map(DatanodeInfo::getHostName)
          .collect(Collectors.toList()));
    }
    return cached;
  }

  /** Apply stock's conditions, and require as many environments as the possible nodes have. */
  @Override public BlockPlacementStatus verifyBlockPlacement(DatanodeInfo[] locs, int numberOfReplicas) {
    BlockPlacementStatus stock = super.verifyBlockPlacement(locs, numberOfReplicas);
    Tenants.State state = tenants.state();
    if (state == null || locs == null) {
      return stock;
    }
    int environmentCount = state.placer.environments(servers(state, Arrays.stream(locs)));
    int possibleCount = environmentCount;
    if (environmentCount < numberOfReplicas) {
      Set<Integer> occupied = new HashSet<>();
      Arrays.stream(locs).filter(node -> server(state, node) >= 0)
          .forEach(node -> occupied.add(environment(state, node)));
      for (List<DatanodeDescriptor> nodes : clusterNodes(state).environments) {
        if (possibleCount < numberOfReplicas && !occupied.contains(environment(state, nodes.get(0)))
            && nodes.stream().anyMatch(node -> canTake(node, locs))) {
          possibleCount++;
        }
      }
    }
    return new EnvironmentStatus(stock, environmentCount, possibleCount);
  }

  /** Return whether a node can take one more replica of a block with the given locations. */
  private boolean canTake(DatanodeDescriptor node, DatanodeInfo[] locs) {
    long onRack = Arrays.stream(locs).filter(one -> one.getNetworkLocation().equals(node.getNetworkLocation())).count();
    if (!node.isInService() || busy(node) || onRack + 1 > getMaxNodesPerRack(locs.length, 1)[1]
        || stats != null && stats.isAvoidingStaleDataNodesForWrite() && node.isStale(staleMillis)) {
      return false;
    }
    // The storage types of the block are unknown: all types that its nodes have in common must have room.
    EnumSet<StorageType> common = EnumSet.allOf(StorageType.class);
    EnumSet<StorageType> any = EnumSet.noneOf(StorageType.class);
    for (DatanodeInfo one : locs) {
      EnumSet<StorageType> types = one instanceof DatanodeDescriptor ? ((DatanodeDescriptor) one).getStorageTypes()
          : EnumSet.noneOf(StorageType.class);
      common.retainAll(types);
      any.addAll(types);
    }
    return (common.isEmpty() ? any : common).stream()
        .allMatch(type -> node.chooseStorage4Block(type, blockSize, getMinBlocksForWrite()) != null);
  }

  /** Let stock choose among the replicas of excess types whose removal leaves the most environments. */
  @Override public DatanodeStorageInfo chooseReplicaToDelete(Collection<DatanodeStorageInfo> moreThanOne,
      Collection<DatanodeStorageInfo> exactlyOne, List<StorageType> excessTypes,
      Map<String, List<DatanodeStorageInfo>> rackMap) {
    return super.chooseReplicaToDelete(ofTypes(moreThanOne, excessTypes), ofTypes(exactlyOne, excessTypes), excessTypes,
        rackMap);
  }

  private static List<DatanodeStorageInfo> ofTypes(Collection<DatanodeStorageInfo> all, List<StorageType> types) {
    return all.stream().filter(one -> types.contains(one.getStorageType())).collect(Collectors.toList());
  }

  /**
   * Of the replicas that stock may delete, keep those whose removal leaves the most environments, then by the grid's
   * rules.
   */
  @Override protected Collection<DatanodeStorageInfo> pickupReplicaSet(Collection<DatanodeStorageInfo> moreThanOne,
      Collection<DatanodeStorageInfo> exactlyOne, Map<String, List<DatanodeStorageInfo>> rackMap) {
    Collection<DatanodeStorageInfo> stock = super.pickupReplicaSet(moreThanOne, exactlyOne, rackMap);
    Tenants.State state = tenants.state();
    if (state == null) {
      return stock;
    }
    // With two racks stock also names replicas that are not candidates.
    List<DatanodeStorageInfo> candidates = stock.stream()
        .filter(one -> moreThanOne.contains(one) || exactlyOne.contains(one)).collect(Collectors.toList());
    List<DatanodeStorageInfo> all = rackMap.values().stream().flatMap(List::stream).collect(Collectors.toList());
    return leastLoss(state, candidates, all);
  }

  private static List<DatanodeStorageInfo> leastLoss(Tenants.State state, List<DatanodeStorageInfo> candidates,
      List<DatanodeStorageInfo> all) {
    List<DatanodeStorageInfo> best = new ArrayList<>();
    int[] least = null;
    for (DatanodeStorageInfo replica : candidates) {
      int[] rest = servers(state, all.stream().filter(other -> other != replica)
          .map(DatanodeStorageInfo::getDatanodeDescriptor));
      int[] loss = {-state.placer.environments(rest), state.placer.levelOf(rest)};
      int order = least == null ? -1 : Arrays.compare(loss, least);
      if (order < 0) {
        best.clear();
        least = loss;
      }
      if (order <= 0) {
        best.add(replica);
      }
    }
    return best;
  }

  @Override boolean useDelHint(DatanodeStorageInfo delHint, DatanodeStorageInfo added,
      List<DatanodeStorageInfo> moreThanOne, Collection<DatanodeStorageInfo> exactlyOne, List<StorageType> excessTypes) {
    if (!super.useDelHint(delHint, added, moreThanOne, exactlyOne, excessTypes)) {
      return false;
    }
    Tenants.State state = tenants.state();
    List<DatanodeStorageInfo> all = new ArrayList<>(moreThanOne);
    all.addAll(exactlyOne);
    return state == null || leastLoss(state, ofTypes(all, excessTypes), all).contains(delHint);
  }

  /** Return whether the balancer may move a replica: only without loss of diversity. */
  @Override public boolean isMovable(Collection<DatanodeInfo> locs, DatanodeInfo source, DatanodeInfo target) {
    if (!super.isMovable(locs, source, target)) {
      return false;
    }
    Tenants.State state = tenants.state();
    if (state == null) {
      return true;
    }
    int[] before = servers(state, locs.stream());
    int[] after = servers(state, Stream.concat(locs.stream().filter(one -> !one.equals(source)), Stream.of(target)));
    return state.placer.environments(after) >= state.placer.environments(before)
        && state.placer.levelOf(after) <= state.placer.levelOf(before);
  }

  private static final class EnvironmentStatus implements BlockPlacementStatus {
    private final BlockPlacementStatus stock;
    private final int environmentCount;
    private final int possibleCount;

    EnvironmentStatus(BlockPlacementStatus stock, int environmentCount, int possibleCount) {
      this.stock = stock;
      this.environmentCount = environmentCount;
      this.possibleCount = possibleCount;
    }

    @Override public boolean isPlacementPolicySatisfied() {
      return stock.isPlacementPolicySatisfied() && environmentCount >= possibleCount;
    }

    @Override public String getErrorDescription() {
      return !stock.isPlacementPolicySatisfied() ? stock.getErrorDescription()
          : environmentCount >= possibleCount ? null : "replicas are in " + environmentCount + " environments; " + possibleCount + " are possible";
    }

    @Override public int getAdditionalReplicasRequired() {
      return Math.max(stock.getAdditionalReplicasRequired(), possibleCount - environmentCount);
    }
  }
}
