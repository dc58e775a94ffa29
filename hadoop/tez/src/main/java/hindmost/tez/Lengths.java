package hindmost.tez;

import hindmost.hadoop.Selector.Length;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** How long a job took the last time, by its name, in a file of lines "SECONDS NAME"; what is not known is medium. */
public final class Lengths {
  /** The paper's, in seconds: shorter is short, longer than the second is long. */
  public static final double[] PAPER = {173, 433};

  private final Path path;
  private final double[] thresholds;
  private final Map<String, Double> seconds = new TreeMap<>();

  public Lengths(Path path, double[] thresholds) throws IOException {
    this.path = path;
    this.thresholds = thresholds.clone();
    if (Files.exists(path)) {
      for (String line : Files.readAllLines(path)) {
        String[] of = line.split(" ", 2);
        try {
          seconds.put(of[1], Double.parseDouble(of[0]));
        } catch (NumberFormatException | ArrayIndexOutOfBoundsException torn) {
          continue; // a job that nothing is known of
        }
      }
    }
  }

  public Length of(String job) {
    Double last = seconds.get(job);
    if (last == null) {
      return Length.MEDIUM;
    }
    return last < thresholds[0] ? Length.SHORT : last > thresholds[1] ? Length.LONG : Length.MEDIUM;
  }

  /** Notes what a run took, for the next one. */
  public void took(String job, double runSeconds) throws IOException {
    seconds.put(job, runSeconds);
    StringBuilder text = new StringBuilder();
    seconds.forEach((name, last) -> text.append(String.format(Locale.ROOT, "%.3f %s%n", last, name)));
    Path beside = path.resolveSibling(path.getFileName() + ".new");
    Files.writeString(beside, text);
    Files.move(beside, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
  }
}
