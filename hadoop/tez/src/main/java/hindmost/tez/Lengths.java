package hindmost.tez;

import hindmost.hadoop.Selector.Length;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** The last duration of each job, by its name, in a file of lines "SECONDS NAME"; an unknown job counts as medium. */
public final class Lengths {
  /** The paper's thresholds in seconds: a shorter job is short, one above the second is long. */
  public static final double[] PAPER = {173, 433};

  private final Path path;
  private final double[] thresholds;
  private final Map<String, Double> seconds = new TreeMap<>();

  public Lengths(Path path, double[] thresholds) throws IOException {
    this.path = path;
    this.thresholds = thresholds.clone();
    if (Files.exists(path)) {
      for (String line : Files.readAllLines(path)) {
        String[] fields = line.split(" ", 2);
        try {
          seconds.put(fields[1], Double.parseDouble(fields[0]));
        } catch (NumberFormatException | ArrayIndexOutOfBoundsException torn) {
          continue; // the job is unknown
        }
      }
    }
  }

  public Length lengthOf(String job) {
    Double last = seconds.get(job);
    if (last == null) {
      return Length.MEDIUM;
    }
    return last < thresholds[0] ? Length.SHORT : last > thresholds[1] ? Length.LONG : Length.MEDIUM;
  }

  /** Record the duration of a run for the next one. */
  public void record(String job, double runSeconds) throws IOException {
    seconds.put(job, runSeconds);
    StringBuilder text = new StringBuilder();
    seconds.forEach((name, last) -> text.append(String.format(Locale.ROOT, "%.3f %s%n", last, name)));
    Path temporary = path.resolveSibling(path.getFileName() + ".new");
    Files.writeString(temporary, text);
    Files.move(temporary, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
  }
}
