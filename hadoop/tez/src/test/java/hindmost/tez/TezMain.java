package hindmost.tez;

import hindmost.hadoop.Selector;
import hindmost.hadoop.Selector.Length;
import hindmost.hadoop.Sequence;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.tez.client.TezClient;
import org.apache.tez.common.counters.TezCounters;
import org.apache.tez.dag.api.DAG;
import org.apache.tez.dag.api.Edge;
import org.apache.tez.dag.api.ProcessorDescriptor;
import org.apache.tez.dag.api.TezConfiguration;
import org.apache.tez.dag.api.Vertex;
import org.apache.tez.dag.api.client.DAGStatus;
import org.apache.tez.dag.api.client.StatusGetOpts;
import org.apache.tez.runtime.library.conf.OrderedPartitionedKVEdgeConfig;
import org.apache.tez.runtime.library.partitioner.HashPartitioner;

/**
 * Tests of Tez-H: TezMain FOLDER [ROOMY FULL]. ROOMY and FULL are the hosts of a class with room and of one without, on
 * a running YARN.
 */
public final class TezMain {
  static final int TASKS = 3;
  static final int WORDS = 1000;
  private final Path folder;

  private TezMain(Path folder) {
    this.folder = folder;
  }

  public static void main(String[] arguments) {
    int status = 0;
    try {
      TezMain main = new TezMain(Path.of(arguments[0]).toAbsolutePath());
      main.lengths();
      main.width();
      if (arguments.length > 1) {
        main.run(arguments[1], arguments[2]);
      }
      System.out.println("Tez: held");
    } catch (Throwable failure) {
      failure.printStackTrace();
      System.out.println("Tez: FAILED: " + failure);
      status = 1;
    }
    System.out.flush();
    Runtime.getRuntime().halt(status);
  }

  private static void same(Object actual, Object expected, String name) {
    if (!expected.equals(actual)) {
      throw new AssertionError(name + ": " + actual + ", expected " + expected);
    }
  }

  private void lengths() throws Exception {
    Path path = folder.resolve("lengths");
    Lengths lengths = new Lengths(path, Lengths.PAPER);
    same(lengths.lengthOf("q 19"), Length.MEDIUM, "a job that never ran");
    lengths.record("q 19", 172.9);
    lengths.record("q 2", 433.1);
    same(lengths.lengthOf("q 19"), Length.SHORT, "a job of 172.9 s");
    Files.writeString(path, Files.readString(path) + "torn\n");
    Lengths reloaded = new Lengths(path, Lengths.PAPER);
    same(reloaded.lengthOf("q 2"), Length.LONG, "a job of 433.1 s, read again");
    reloaded.record("q 19", 300);
    same(reloaded.lengthOf("q 19"), Length.MEDIUM, "the last run counts");
  }

  /** Four tasks, then two parallel vertices with two and three tasks, then one task. */
  private void width() {
    Vertex[] all = new Vertex[4];
    int[] tasks = {4, 2, 3, 1};
    DAG dag = DAG.create("diamond");
    for (int at = 0; at < all.length; at++) {
      all[at] = vertex("v" + at, Words.class, tasks[at]);
      dag.addVertex(all[at]);
    }
    for (int[] edge : new int[][] {{0, 1}, {0, 2}, {1, 3}, {2, 3}}) {
      dag.addEdge(edge(all[edge[0]], all[edge[1]]));
    }
    same(DagWidth.of(dag), 5, "width of a diamond");
  }

  private static Vertex vertex(String name, Class<?> processor, int tasks) {
    return Vertex.create(name, ProcessorDescriptor.create(processor.getName()), tasks, Resource.newInstance(256, 1));
  }

  private static Edge edge(Vertex from, Vertex to) {
    return Edge.create(from, to, OrderedPartitionedKVEdgeConfig.newBuilder(Text.class.getName(),
        IntWritable.class.getName(), HashPartitioner.class.getName()).build().createDefaultEdgeProperty());
  }

  private void run(String roomy, String full) throws Exception {
    TezConfiguration conf = new TezConfiguration(new YarnConfiguration());
    conf.setBoolean("tez.ignore.lib.uris", true);
    conf.set("tez.cluster.additional.classpath.prefix", System.getProperty("java.class.path"));
    conf.set("tez.staging-dir", folder.resolve("staging").toString());
    String jvm = "-Xmx200m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 --add-opens java.base/java.lang=ALL-UNNAMED";
    conf.set("tez.am.launch.cmd-opts", jvm);
    conf.set("tez.task.launch.cmd-opts", jvm);
    conf.setInt("tez.am.resource.memory.mb", 512);
    conf.setInt("tez.runtime.io.sort.mb", 16);
    Vertex words = vertex("words", Words.class, TASKS);
    Vertex sums = vertex("sums", Sums.class, 2);
    DAG dag = DAG.create("count").addVertex(words).addVertex(sums).addEdge(edge(words, sums));
    Lengths lengths = new Lengths(folder.resolve("lengths"), Lengths.PAPER);
    int[] chosen = ClassRequest.apply(dag, lengths.lengthOf("count"), List.of(
        new ClassRequest.Servers(new Selector.ClassState(Selector.Pattern.PERIODIC, 0.9, 1, 1, 8), List.of(full)),
        new ClassRequest.Servers(new Selector.ClassState(Selector.Pattern.CONSTANT, 0.3, 0.4, 0.3, 8), List.of(roomy))),
        new Sequence(1));
    same(Arrays.toString(chosen), "[1]", "classes");
    TezClient client = TezClient.create("hindmost", conf);
    client.start();
    long started = System.nanoTime();
    DAGStatus result = client.submitDAG(dag).waitForCompletionWithStatusUpdates(EnumSet.of(StatusGetOpts.GET_COUNTERS));
    double seconds = (System.nanoTime() - started) / 1e9;
    same(result.getState(), DAGStatus.State.SUCCEEDED, "end: " + result.getDiagnostics());
    lengths.record("count", seconds);
    same(lengths.lengthOf("count"), Length.SHORT, "length of the next run");
    TezCounters counters = result.getDAGCounters();
    same(counters.findCounter("harvest", "sum").getValue(), (long) TASKS * WORDS, "sum");
    long onRoomy = counters.findCounter("hosts", roomy).getValue();
    System.out.printf("a DAG of width %d ran in %.1f s, %d of %d tasks on the class with room%n", DagWidth.of(dag),
        seconds, onRoomy, TASKS + 2);
    same(onRoomy, TASKS + 2L, "tasks on the class with room");
    client.stop();
  }
}
