package hindmost.hadoop;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
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
    Metrics.get().nodeOrders.increment();
    List<Drawn<N>> order = new ArrayList<>();
    for (N node : getNodesPerPartition(partition)) {
      order.add(new Drawn<>(node));
    }
    Collections.sort(order);
    Iterator<Drawn<N>> drawn = order.iterator();
    return new Iterator<N>() {
      @Override public boolean hasNext() {
        return drawn.hasNext();
      }

      @Override public N next() {
        return drawn.next().node;
      }
    };
  }

  /**
   * A node with an exponential time, its rate the free cores: in the order of times, each next node is one of those left
   * with a probability in proportion to its weight (Efraimidis and Spirakis, Information Processing Letters 97, 2006).
   */
  private static final class Drawn<N extends SchedulerNode> implements Comparable<Drawn<N>> {
    final N node;
    final double time;

    Drawn(N node) {
      this.node = node;
      int free = Math.max(0, node.getUnallocatedResource().getVirtualCores());
      // Of 1 - u in (0, 1]: without free cores never, even where the logarithm is 0.
      time = free == 0 ? Double.POSITIVE_INFINITY
          : -Math.log(1 - ThreadLocalRandom.current().nextDouble()) / free;
    }

    @Override public int compareTo(Drawn<N> other) {
      return Double.compare(time, other.time);
    }
  }

  @Override public void addAndRefreshNodesSet(Collection<N> given, String partition) {
    nodes.put(partition, new LinkedHashSet<>(given));
  }

  @Override public Set<N> getNodesPerPartition(String partition) {
    return nodes.getOrDefault(partition, Set.of());
  }
}
