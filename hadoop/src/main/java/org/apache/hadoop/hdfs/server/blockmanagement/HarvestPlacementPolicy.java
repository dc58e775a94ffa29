package org.apache.hadoop.hdfs.server.blockmanagement;

import hindmost.hadoop.BusyBoard;
import hindmost.hadoop.Metrics;
import hindmost.hadoop.Placer;
import hindmost.hadoop.Sequence;
import hindmost.hadoop.Tenants;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.net.NetworkTopology;
import org.apache.hadoop.net.Node;
import org.apache.hadoop.net.NodeBase;

/**
 * Replicas on tenants that differ: dfs.block.replicator.classname. Tenant and server are chosen here; whether a server
 * is good (stale, full, loaded, of the right storage) stays stock's decision, as does everything where tenants are not
 * known. It stands in Hadoop's package because what it overrides does.
 */
public class HarvestPlacementPolicy extends BlockPlacementPolicyDefault {
  /** Servers that stock may refuse before the choice is left to it. */
  private static final int REFUSALS = 16;

  private Tenants tenants;
  private volatile Present present = new Present(null, -1, Map.of());

  /** Who is there, under one file of tenants: the name node's own map takes hosts that share an address for one. */
  private static final class Present {
    final Tenants.State state;
    final int leaves;
    /** By number of the server; null where it is not there. */
    final DatanodeDescriptor[] nodes;
    final int environments;

    Present(Tenants.State state, int leaves, Map<String, DatanodeDescriptor> byHost) {
      this.state = state;
      this.leaves = leaves;
      nodes = state == null ? new DatanodeDescriptor[0]
          : state.file.hosts.stream().map(byHost::get).toArray(DatanodeDescriptor[]::new);
      environments = state == null ? 0 : state.placer.environments(
          IntStream.range(0, nodes.length).filter(server -> nodes[server] != null).toArray());
    }
  }

  @Override public void initialize(Configuration conf, FSClusterStats stats, NetworkTopology clusterMap,
      Host2NodesMap host2datanodeMap) {
    super.initialize(conf, stats, clusterMap, host2datanodeMap);
    tenants = new Tenants(conf);
  }

  @Override protected Node chooseTargetInOrder(int numOfReplicas, Node writer, Set<Node> excludedNodes,
      long blocksize, int maxNodesPerRack, List<DatanodeStorageInfo> results, boolean avoidStaleNodes,
      boolean newBlock, EnumMap<StorageType, Integer> storageTypes) throws NotEnoughReplicasException {
    Tenants.State state = tenants.state();
    if (state == null) {
      return super.chooseTargetInOrder(numOfReplicas, writer, excludedNodes, blocksize, maxNodesPerRack, results,
          avoidStaleNodes, newBlock, storageTypes);
    }
    long begun = System.nanoTime();
    int wanted = results.size() + numOfReplicas;
    if (results.isEmpty() && writer instanceof DatanodeDescriptor
        && state.server(((DatanodeDescriptor) writer).getHostName()) >= 0
        && !BusyBoard.get().busy(((DatanodeDescriptor) writer).getHostName())) {
      chooseLocalStorage(writer, excludedNodes, blocksize, maxNodesPerRack, results, avoidStaleNodes, storageTypes,
          false);
    }
    BitSet refused = new BitSet();
    while (results.size() < wanted && refused.cardinality() <= REFUSALS) {
      Present there = present(state);
      Placer.Choice choice = next(there, results, refused, excludedNodes, !newBlock);
      if (choice == null) {
        break;
      }
      DatanodeDescriptor node = there.nodes[choice.server];
      if (!clusterMap.contains(node)) {
        present = new Present(null, -1, Map.of()); // another came under its name: looked up anew
        refused.set(choice.server, node == present(state).nodes[choice.server]);
      } else if (take(node, excludedNodes, blocksize, maxNodesPerRack, results, avoidStaleNodes, storageTypes)) {
        Metrics.get().placed[choice.level].increment();
      } else {
        refused.set(choice.server);
      }
    }
    Metrics.get().choiceTook(System.nanoTime() - begun);
    if (results.size() < wanted) {
      Metrics.get().fallbacks.increment();
      return super.chooseTargetInOrder(wanted - results.size(), writer, excludedNodes, blocksize, maxNodesPerRack,
          results, avoidStaleNodes, newBlock && results.isEmpty(), storageTypes);
    }
    return writer;
  }

  /** Stock's conditions for one server: whether it is good, and has a storage of a wanted type. */
  private boolean take(DatanodeDescriptor node, Set<Node> excludedNodes, long blocksize, int maxNodesPerRack,
      List<DatanodeStorageInfo> results, boolean avoidStaleNodes, EnumMap<StorageType, Integer> storageTypes)
      throws NotEnoughReplicasException {
    // Of a favoured node stock does not ask how loaded it is.
    return (!considerLoad || isGoodDatanode(node, maxNodesPerRack, true, results, avoidStaleNodes))
        && chooseLocalOrFavoredStorage(node, true, excludedNodes, blocksize, maxNodesPerRack, results, avoidStaleNodes,
            storageTypes) != null;
  }

  private Placer.Choice next(Present there, List<DatanodeStorageInfo> results, BitSet refused, Set<Node> excluded,
      boolean repair) {
    Tenants.State state = there.state;
    int[] chosen = new int[results.size()];
    for (int at = 0; at < chosen.length; at++) {
      chosen[at] = server(state, results.get(at).getDatanodeDescriptor());
    }
    Sequence random = new Sequence(ThreadLocalRandom.current().nextLong());
    return state.placer.choose(chosen, repair, random, server -> {
      DatanodeDescriptor node = there.nodes[server];
      return node != null && !refused.get(server) && !excluded.contains(node)
          && !BusyBoard.get().busy(node.getHostName());
    });
  }

  /** The number of a host; those that nobody knows get numbers of their own, which no tenant has. */
  private static int server(Tenants.State state, DatanodeInfo node) {
    int known = state.server(node.getHostName());
    return known >= 0 ? known : -2 - Math.abs(node.getHostName().hashCode() % 1_000_000);
  }

  private static int[] servers(Tenants.State state, Stream<? extends DatanodeInfo> nodes) {
    return nodes.mapToInt(node -> server(state, node)).toArray();
  }

  /** Looks anew at who is there when their number or the file of tenants changed. */
  private Present present(Tenants.State state) {
    Present known = present;
    int now = clusterMap.getNumOfLeaves();
    if (known.leaves != now || known.state != state) {
      known = new Present(state, now, clusterMap.getLeaves(NodeBase.ROOT).stream()
          .filter(DatanodeDescriptor.class::isInstance).map(DatanodeDescriptor.class::cast)
          .collect(Collectors.toMap(DatanodeInfo::getHostName, node -> node, (one, other) -> other)));
      present = known;
    }
    return known;
  }

  /** Stock's own conditions, and as many environments as there can be. */
  @Override public BlockPlacementStatus verifyBlockPlacement(DatanodeInfo[] locs, int numberOfReplicas) {
    BlockPlacementStatus stock = super.verifyBlockPlacement(locs, numberOfReplicas);
    Tenants.State state = tenants.state();
    if (state == null || !stock.isPlacementPolicySatisfied() || locs == null) {
      return stock;
    }
    int possible = Math.min(numberOfReplicas, present(state).environments);
    int found = state.placer.environments(servers(state, Arrays.stream(locs)));
    return new EnvironmentStatus(found, possible);
  }

  @Override public List<DatanodeStorageInfo> chooseReplicasToDelete(Collection<DatanodeStorageInfo> available,
      Collection<DatanodeStorageInfo> candidates, int expected, List<StorageType> excessTypes,
      DatanodeDescriptor addedNode, DatanodeDescriptor delNodeHint) {
    Tenants.State state = tenants.state();
    if (state == null) {
      return super.chooseReplicasToDelete(available, candidates, expected, excessTypes, addedNode, delNodeHint);
    }
    List<DatanodeStorageInfo> left = new ArrayList<>(available);
    List<DatanodeStorageInfo> may = new ArrayList<>(candidates);
    List<DatanodeStorageInfo> deleted = new ArrayList<>();
    while (left.size() - expected > 0) {
      DatanodeStorageInfo worst = null;
      long[] best = null;
      for (DatanodeStorageInfo one : may) {
        if (!excessTypes.contains(one.getStorageType())) {
          continue;
        }
        int[] rest = servers(state, left.stream().filter(other -> other != one)
            .map(DatanodeStorageInfo::getDatanodeDescriptor));
        // What is left must be diverse; then the balancer's hint; then the fullest server gives its replica up.
        long[] rank = {rest.length - state.placer.environments(rest), state.placer.levelOf(rest),
            one.getDatanodeDescriptor().equals(delNodeHint) ? 0 : 1, one.getDatanodeDescriptor().getRemaining()};
        if (best == null || Arrays.compare(rank, best) < 0) {
          worst = one;
          best = rank;
        }
      }
      if (worst == null) {
        break;
      }
      left.remove(worst);
      may.remove(worst);
      excessTypes.remove(worst.getStorageType());
      deleted.add(worst);
    }
    return deleted;
  }

  /** The balancer may move a replica where that keeps what diversity there is. */
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
    private final int found;
    private final int possible;

    EnvironmentStatus(int found, int possible) {
      this.found = found;
      this.possible = possible;
    }

    @Override public boolean isPlacementPolicySatisfied() {
      return found >= possible;
    }

    @Override public String getErrorDescription() {
      return isPlacementPolicySatisfied() ? null
          : "replicas are in " + found + " environments; " + possible + " are possible";
    }

    @Override public int getAdditionalReplicasRequired() {
      return Math.max(0, possible - found);
    }
  }
}
