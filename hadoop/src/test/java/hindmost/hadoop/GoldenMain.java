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

/** The same decisions as the Rust core, case by case: its vectors are golden.tsv. */
public final class GoldenMain {
  private final List<Tenant> tenants = new ArrayList<>();
  private final List<Integer> cells = new ArrayList<>();
  private final Map<String, Placer> placers = new HashMap<>();
  private int placed;
  private int selected;

  public static void main(String[] arguments) {
    Check.main("golden vectors", () -> new GoldenMain().run());
  }

  private void run() throws Exception {
    var stream = GoldenMain.class.getResourceAsStream("/golden.tsv");
    try (BufferedReader lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] of = line.split("\t", -1);
        switch (of[0]) {
          case "tenant": tenant(of); break;
          case "place": place(of); break;
          case "select": select(of); break;
          default: Check.that(line.startsWith("#"), line);
        }
      }
    }
    Check.that(placed >= 300 && selected >= 90, placed + " placements, " + selected + " selections");
  }

  private void tenant(String[] of) {
    int first = Integer.parseInt(of[5]);
    int[] servers = IntStream.range(first, first + Integer.parseInt(of[6])).toArray();
    tenants.add(new Tenant("t" + tenants.size(), Integer.parseInt(of[1]), Double.parseDouble(of[2]),
        Double.parseDouble(of[3]), Double.parseDouble(of[4]), -1, servers));
    cells.add(Integer.parseInt(of[7]));
  }

  private void place(String[] of) {
    Placer placer = placers.computeIfAbsent(of[2] + of[3], key -> new Placer(tenants,
        Placer.Weigh.valueOf(of[2].toUpperCase()), of[3].equals("strict") ? Placer.Repair.STRICT : Placer.Repair.ROW,
        true));
    if (placed == 0) {
      for (int at = 0; at < tenants.size(); at++) {
        Check.same(placer.cellOf(tenants.get(at).servers[0]), cells.get(at), "cell of tenant " + at);
      }
    }
    int first = Integer.parseInt(of[4]);
    int last = Integer.parseInt(of[5]);
    IntPredicate usable = server -> server >= first && server <= last && server % 7 != 5;
    Sequence random = new Sequence(Long.parseUnsignedLong(of[1]));
    Placer.Choice found = placer.choose(numbers(of[6]), !of[3].equals("create"), random, usable);
    String said = found == null ? "-1\t-1" : found.server + "\t" + found.level;
    Check.same(said, of[7] + "\t" + of[8], String.join(" ", of));
    placed++;
  }

  private void select(String[] of) {
    double[] now = Arrays.stream(of[4].split(",")).mapToDouble(Double::parseDouble).toArray();
    List<Selector.Room> rooms = new ArrayList<>();
    for (int at = 0; at < now.length; at++) {
      rooms.add(new Selector.Room(Selector.Pattern.values()[at % 3], 0.25 + at / 32.0, 0.5 + at / 16.0, now[at], 64));
    }
    int[] found = Selector.select(Selector.Length.valueOf(of[2].toUpperCase()), Double.parseDouble(of[3]), rooms,
        new Sequence(Long.parseUnsignedLong(of[1])));
    String said = Arrays.stream(found).mapToObj(String::valueOf).collect(Collectors.joining(","));
    Check.same(said, of[5], String.join(" ", of));
    selected++;
  }

  private static int[] numbers(String text) {
    return text.isEmpty() ? new int[0] : Arrays.stream(text.split(",")).mapToInt(Integer::parseInt).toArray();
  }
}
