package hindmost.tez;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.tez.dag.api.DAG;
import org.apache.tez.dag.api.Vertex;

/** The number of containers that a DAG may use at once: breadth first, the most tasks of all vertices of one level. */
public final class DagWidth {
  private DagWidth() {}

  public static int of(DAG dag) {
    List<Vertex> level = new ArrayList<>();
    for (Vertex vertex : dag.getVertices()) {
      if (vertex.getInputVertices().isEmpty()) {
        level.add(vertex);
      }
    }
    Set<Vertex> visited = new HashSet<>(level);
    int widest = 0;
    while (!level.isEmpty()) {
      int tasks = 0;
      List<Vertex> next = new ArrayList<>();
      for (Vertex vertex : level) {
        // A parallelism that is decided at run time is -1: it counts as one task.
        tasks += Math.max(1, vertex.getParallelism());
        for (Vertex successor : vertex.getOutputVertices()) {
          if (visited.add(successor)) {
            next.add(successor);
          }
        }
      }
      widest = Math.max(widest, tasks);
      level = next;
    }
    return widest;
  }
}
