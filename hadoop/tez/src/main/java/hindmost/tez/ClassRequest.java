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
 * Algorithm 1 for one DAG: classes that hold as many containers as it is wide, by the length of its job; each task asks
 * for the servers of any of them. Tez asks YARN for these first and takes others where they have no room.
 */
public final class ClassRequest {
  /** Servers of a class, and how it is used now. */
  public static final class Servers {
    final Selector.Room room;
    final List<String> hosts;

    public Servers(Selector.Room room, List<String> hosts) {
      this.room = room;
      this.hosts = List.copyOf(hosts);
    }
  }

  private ClassRequest() {}

  /** The classes that were chosen, none where all together are too small: then stock decides. */
  public static int[] apply(DAG dag, Selector.Length length, List<Servers> classes, Sequence random) {
    List<Selector.Room> rooms = new ArrayList<>();
    classes.forEach(one -> rooms.add(one.room));
    int[] chosen = Selector.select(length, DagWidth.of(dag), rooms, random);
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
