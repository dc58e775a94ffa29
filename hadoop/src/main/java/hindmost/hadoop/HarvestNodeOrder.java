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
 * A policy of the capacity scheduler's multi-node placement. It orders servers for containers at random, with
 * probability proportional to their free cores; servers without free cores come last. Stock does not tell it the
 * application, but a queue may have a policy of its own. The policies of queues whose jobs have one length use it: they
 * weigh a node's headroom by its class, as algorithm 1 does.
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
  /** Length of all jobs of the queue; null if they differ. */
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
    Tenants.State tenantState = tenants == null ? null : tenants.state();
    List<TimedNode<N>> order = new ArrayList<>();
    for (N node : getNodesPerPartition(partition)) {
      order.add(new TimedNode<>(node, weight(tenantState, node)));
    }
    Collections.sort(order);
    Iterator<TimedNode<N>> ordered = order.iterator();
    return new Iterator<N>() {
      @Override public boolean hasNext() {
        return ordered.hasNext();
      }

      @Override public N next() {
        return ordered.next().node;
      }
    };
  }

  /** Return the free cores; if the length of jobs is known, the cores they may use, weighted by the node's class. */
  private double weight(Tenants.State tenantState, N node) {
    int free = Math.max(0, node.getUnallocatedResource().getVirtualCores());
    if (tenantState == null || free == 0) {
      return free;
    }
    Selector.ClassState state = tenantState.classState(node.getNodeID().getHost());
    if (state == null) {
      return free; // as the pattern that ranks last
    }
    // The reserve is never available, whatever the past was; free cores already exclude it.
    double past = length == Selector.Length.SHORT ? 0 : length == Selector.Length.MEDIUM ? state.mean : state.peak;
    // The total is what the keeper left of the node; a node manager may have more cores than its hardware.
    Resource hardware = node.getRMNode().getPhysicalResource();
    int cores = Math.max(node.getTotalResource().getVirtualCores(), hardware == null ? 0 : hardware.getVirtualCores());
    double left = Math.max(0, 1 - past - reserve) * cores;
    return Math.min(free, left) * Selector.rank(length, state.pattern);
  }

  /**
   * A node with an exponential time whose rate is the node's weight. In the order of these times, each next node is
   * drawn from the remaining ones with probability proportional to its weight (Efraimidis and Spirakis, Information
   * Processing Letters 97, 2006).
   */
  private static final class TimedNode<N extends SchedulerNode> implements Comparable<TimedNode<N>> {
    final N node;
    final double time;

    TimedNode(N node, double weight) {
      this.node = node;
      // 1 - u is in (0, 1]. Without a weight the time is infinite, even if the logarithm is 0.
      time = weight == 0 ? Double.POSITIVE_INFINITY
          : -Math.log(1 - ThreadLocalRandom.current().nextDouble()) / weight;
    }

    @Override public int compareTo(TimedNode<N> other) {
      return Double.compare(time, other.time);
    }
  }

  @Override public void addAndRefreshNodesSet(Collection<N> given, String partition) {
    nodes.put(partition, new LinkedHashSet<>(given));
    Tenants.State tenantState = tenants == null ? null : tenants.state();
    if (tenantState != null) {
      tenantState.noteUnknown(nodes.values().stream().flatMap(Set::stream).map(node -> node.getNodeID().getHost())
          .filter(host -> tenantState.server(host) < 0).collect(Collectors.toList()));
    }
  }

  @Override public Set<N> getNodesPerPartition(String partition) {
    return nodes.getOrDefault(partition, Set.of());
  }
}
