package hindmost.tez;

import hindmost.hadoop.Selector;
import hindmost.hadoop.Sequence;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.tez.dag.api.DAG;
import org.apache.tez.dag.api.TaskLocationHint;
import org.apache.tez.dag.api.Vertex;
import org.apache.tez.dag.api.VertexLocationHint;

/**
 * Algorithm 1 for one DAG: selects classes that hold as many containers as the DAG is wide, by the length of its job.
 * Each task requests the servers of the selected classes. Tez requests these from YARN first, and takes others if they
 * are full.
 */
public final class ClassRequest {
  /** The servers of a class and its current state. */
  public static final class Servers {
    final Selector.ClassState state;
    final List<String> hosts;

    public Servers(Selector.ClassState state, List<String> hosts) {
      this.state = state;
      this.hosts = List.copyOf(hosts);
    }
  }

  private ClassRequest() {}

  /**
   * Select classes and set the location hints. Return the classes; none if all together are too small: then stock
   * decides.
   */
  public static int[] apply(DAG dag, Selector.Length length, List<Servers> classes, Sequence random) {
    List<Selector.ClassState> states = new ArrayList<>();
    classes.forEach(one -> states.add(one.state));
    int[] chosen = Selector.select(length, DagWidth.of(dag), states, random);
    Set<String> hosts = new HashSet<>();
    for (int one : chosen) {
      hosts.addAll(classes.get(one).hosts);
    }
    for (Vertex vertex : dag.getVertices()) {
      if (!hosts.isEmpty() && vertex.getParallelism() > 0) {
        vertex.setLocationHint(VertexLocationHint.create(Collections.nCopies(vertex.getParallelism(),
            TaskLocationHint.createTaskLocationHint(hosts, null))));
      }
    }
    return chosen;
  }
}
