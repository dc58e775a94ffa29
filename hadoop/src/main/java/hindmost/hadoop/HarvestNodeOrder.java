package hindmost.hadoop;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.MultiNodeLookupPolicy;

/**
 * Servers for containers with a probability in proportion to their free cores, those without any last: a policy of the
 * capacity scheduler's multi-node placement.
 */
public final class HarvestNodeOrder<N extends SchedulerNode> implements MultiNodeLookupPolicy<N> {
  private final Map<String, Set<N>> nodes = new ConcurrentHashMap<>();

  @Override public Iterator<N> getPreferredNodeIterator(Collection<N> given, String partition) {
    List<N> left = new ArrayList<>(getNodesPerPartition(partition));
    List<N> order = new ArrayList<>(left.size());
    Sequence random = new Sequence(ThreadLocalRandom.current().nextLong());
    while (!left.isEmpty()) {
      double[] weights = left.stream()
          .mapToDouble(node -> Math.max(0, node.getUnallocatedResource().getVirtualCores())).toArray();
      int next = random.weighted(weights);
      order.add(left.remove(next < 0 ? 0 : next));
    }
    return order.iterator();
  }

  @Override public void addAndRefreshNodesSet(Collection<N> given, String partition) {
    nodes.put(partition, new LinkedHashSet<>(given));
  }

  @Override public Set<N> getNodesPerPartition(String partition) {
    return nodes.getOrDefault(partition, Set.of());
  }
}
