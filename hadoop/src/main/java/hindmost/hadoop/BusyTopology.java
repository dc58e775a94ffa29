package hindmost.hadoop;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;
import org.apache.hadoop.hdfs.net.DFSNetworkTopology;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.net.Node;

/**
 * Lists busy replicas last, so that clients try other replicas first: dfs.net.topology.impl. The two sort methods
 * without a secondary order call these two.
 */
public final class BusyTopology extends DFSNetworkTopology {
  @Override public <T extends Node> void sortByDistance(Node reader, T[] nodes, int activeLen,
      Consumer<List<T>> secondary) {
    super.sortByDistance(reader, nodes, activeLen, secondary);
    busyLast(nodes, activeLen);
  }

  @Override public <T extends Node> void sortByDistanceUsingNetworkLocation(Node reader, T[] nodes, int activeLen,
      Consumer<List<T>> secondary) {
    super.sortByDistanceUsingNetworkLocation(reader, nodes, activeLen, secondary);
    busyLast(nodes, activeLen);
  }

  /** Sort busy nodes last. The sort is stable: distance still orders the nodes within each group. */
  private static <T extends Node> void busyLast(T[] nodes, int activeLen) {
    Arrays.sort(nodes, 0, Math.min(activeLen, nodes.length), Comparator.comparing(node -> isBusy(node)));
  }

  private static boolean isBusy(Node node) {
    return node instanceof DatanodeInfo && BusyBoard.get().busy(((DatanodeInfo) node).getHostName());
  }
}
