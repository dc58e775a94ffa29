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
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.MultiNodeLookupPolicy;

/**
 * Servers for containers with a probability in proportion to their free cores, those without any last: a policy of the
 * capacity scheduler's multi-node placement. Stock tells it no application, but a queue may have a policy of its own:
 * those of queues whose jobs are of one length know it, and weigh a node's headroom by its class as algorithm 1 does.
 */
public class HarvestNodeOrder<N extends SchedulerNode> implements MultiNodeLookupPolicy<N>, Configurable {
  /** For a queue of short jobs. */
  public static final class Short<N extends SchedulerNode> extends HarvestNodeOrder<N> {
    public Short() {
      super(Selector.Length.SHORT);
    }
  }

  /** For a queue of jobs of medium length. */
  public static final class Medium<N extends SchedulerNode> extends HarvestNodeOrder<N> {
    public Medium() {
      super(Selector.Length.MEDIUM);
    }
  }

  /** For a queue of long jobs. */
  public static final class Long<N extends SchedulerNode> extends HarvestNodeOrder<N> {
    public Long() {
      super(Selector.Length.LONG);
    }
  }

  private final Map<String, Set<N>> nodes = new ConcurrentHashMap<>();
  /** Of all jobs that come here; null where they differ. */
  private final Selector.Length length;
  private Configuration conf;
  private Tenants tenants;
  private double reserve;

  public HarvestNodeOrder() {
    this(null);
  }

  private HarvestNodeOrder(Selector.Length length) {
    this.length = length;
  }

  @Override public void setConf(Configuration conf) {
    this.conf = conf;
    if (conf != null && length != null) {
      tenants = new Tenants(conf);
      reserve = conf.getDouble(Keys.RESERVE, Keys.RESERVE_DEFAULT);
    }
  }

  @Override public Configuration getConf() {
    return conf;
  }

  @Override public Iterator<N> getPreferredNodeIterator(Collection<N> given, String partition) {
    Metrics.get().nodeOrders.increment();
    Tenants.State state = tenants == null ? null : tenants.state();
    List<Drawn<N>> order = new ArrayList<>();
    for (N node : getNodesPerPartition(partition)) {
      order.add(new Drawn<>(node, weight(state, node)));
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

  /** Free cores; of a job whose length is known, those that it may count on, by the rank of the node's class. */
  private double weight(Tenants.State state, N node) {
    int free = Math.max(0, node.getUnallocatedResource().getVirtualCores());
    if (state == null || free == 0) {
      return free;
    }
    Selector.Room room = state.room(node.getNodeID().getHost());
    if (room == null) {
      return free; // as one of the pattern that ranks last
    }
    // The reserve is no room, whatever the past was; what is free now has it taken off.
    double past = length == Selector.Length.SHORT ? 0 : length == Selector.Length.MEDIUM ? room.mean : room.peak;
    // The total is what the keeper left of the node; a node manager may have more cores than its hardware.
    Resource hardware = node.getRMNode().getPhysicalResource();
    int cores = Math.max(node.getTotalResource().getVirtualCores(), hardware == null ? 0 : hardware.getVirtualCores());
    double left = Math.max(0, 1 - past - reserve) * cores;
    return Math.min(free, left) * Selector.rank(length, room.pattern);
  }

  /**
   * A node with an exponential time, its rate the weight: in the order of times, each next node is one of those left
   * with a probability in proportion to its weight (Efraimidis and Spirakis, Information Processing Letters 97, 2006).
   */
  private static final class Drawn<N extends SchedulerNode> implements Comparable<Drawn<N>> {
    final N node;
    final double time;

    Drawn(N node, double weight) {
      this.node = node;
      // Of 1 - u in (0, 1]: without a weight never, even where the logarithm is 0.
      time = weight == 0 ? Double.POSITIVE_INFINITY
          : -Math.log(1 - ThreadLocalRandom.current().nextDouble()) / weight;
    }

    @Override public int compareTo(Drawn<N> other) {
      return Double.compare(time, other.time);
    }
  }

  @Override public void addAndRefreshNodesSet(Collection<N> given, String partition) {
    nodes.put(partition, new LinkedHashSet<>(given));
    Tenants.State state = tenants == null ? null : tenants.state();
    if (state != null) {
      state.noteUnknown(nodes.values().stream().flatMap(Set::stream).map(node -> node.getNodeID().getHost())
          .filter(host -> state.server(host) < 0).collect(Collectors.toList()));
    }
  }

  @Override public Set<N> getNodesPerPartition(String partition) {
    return nodes.getOrDefault(partition, Set.of());
  }
}
