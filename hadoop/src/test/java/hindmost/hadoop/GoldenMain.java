package hindmost.hadoop;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Compares all decisions with those of the Rust core, from golden.tsv. */
public final class GoldenMain {
  private final List<Tenant> tenants = new ArrayList<>();
  private final List<Integer> cells = new ArrayList<>();
  private final Map<String, Placer> placers = new HashMap<>();
  private int placements;
  private int selections;

  public static void main(String[] arguments) {
    Check.main("golden vectors", () -> new GoldenMain().run());
  }

  private void run() throws Exception {
    var stream = GoldenMain.class.getResourceAsStream("/golden.tsv");
    try (BufferedReader lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] fields = line.split("\t", -1);
        switch (fields[0]) {
          case "tenant": addTenant(fields); break;
          case "place": place(fields); break;
          case "select": select(fields); break;
          default: Check.that(line.startsWith("#"), line);
        }
      }
    }
    Check.that(placements >= 300 && selections >= 90, placements + " placements, " + selections + " selections");
  }

  private void addTenant(String[] fields) {
    int first = Integer.parseInt(fields[5]);
    int[] servers = IntStream.range(first, first + Integer.parseInt(fields[6])).toArray();
    tenants.add(new Tenant("t" + tenants.size(), Integer.parseInt(fields[1]), Double.parseDouble(fields[2]),
        Double.parseDouble(fields[3]), Double.parseDouble(fields[4]), -1, servers));
    cells.add(Integer.parseInt(fields[7]));
  }

  private void place(String[] fields) {
    Placer placer = placers.computeIfAbsent(fields[2] + fields[3], key -> new Placer(tenants,
        Placer.Weigh.valueOf(fields[2].toUpperCase()),
        fields[3].equals("strict") ? Placer.Repair.STRICT : Placer.Repair.ROW, true));
    if (placements == 0) {
      for (int at = 0; at < tenants.size(); at++) {
        Check.same(placer.cellOf(tenants.get(at).servers[0]), cells.get(at), "cell of tenant " + at);
      }
    }
    int first = Integer.parseInt(fields[4]);
    int last = Integer.parseInt(fields[5]);
    IntPredicate usable = server -> server >= first && server <= last && server % 7 != 5;
    Sequence random = new Sequence(Long.parseUnsignedLong(fields[1]));
    Placer.Choice chosen = placer.choose(numbers(fields[6]), !fields[3].equals("create"), random, usable);
    String actual = chosen == null ? "-1\t-1" : chosen.server + "\t" + chosen.level;
    Check.same(actual, fields[7] + "\t" + fields[8], String.join(" ", fields));
    placements++;
  }

  private void select(String[] fields) {
    double[] now = Arrays.stream(fields[4].split(",")).mapToDouble(Double::parseDouble).toArray();
    List<Selector.ClassState> states = new ArrayList<>();
    for (int at = 0; at < now.length; at++) {
      states.add(new Selector.ClassState(Selector.Pattern.values()[at % 3], 0.25 + at / 32.0, 0.5 + at / 16.0, now[at], 64));
    }
    int[] chosen = Selector.select(Selector.Length.valueOf(fields[2].toUpperCase()), Double.parseDouble(fields[3]), states,
        new Sequence(Long.parseUnsignedLong(fields[1])));
    String actual = Arrays.stream(chosen).mapToObj(String::valueOf).collect(Collectors.joining(","));
    Check.same(actual, fields[5], String.join(" ", fields));
    selections++;
  }

  private static int[] numbers(String text) {
    return text.isEmpty() ? new int[0] : Arrays.stream(text.split(",")).mapToInt(Integer::parseInt).toArray();
  }
}
