package hindmost.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** The utilisation of a host by its primary tenant. A file has the share of cores: "SHARE" or "SHARE MEGABYTES". */
public final class Utilisation {
  /** The value for unknown utilisation. */
  public static final Utilisation ALL = new Utilisation(1, Double.POSITIVE_INFINITY);

  /** Share of the host's cores, 0 to 1. */
  public final double cores;
  /** Resident memory in MB; 0 if the file has none. */
  public final double megabytes;

  Utilisation(double cores, double megabytes) {
    this.cores = cores;
    this.megabytes = megabytes;
  }

  /** Read a host's file; an unreadable one counts as ALL, so that nothing is taken from the tenant. */
  public static Utilisation readOrAll(String pattern, String host) {
    try {
      return read(pattern, host);
    } catch (IOException error) {
      return ALL;
    }
  }

  /** Read a host's file. %h in its name is the host as given, in lower case, or without its domain. */
  public static Utilisation read(String pattern, String host) throws IOException {
    String canonical = HostNames.canonical(host);
    for (String name : List.of(host, canonical, HostNames.label(canonical))) {
      Path file = Path.of(pattern.replace("%h", name));
      if (Files.exists(file)) {
        return read(file);
      }
    }
    throw new NoSuchFileException(pattern.replace("%h", host));
  }

  /** Read a file; the error of an invalid file quotes its text. */
  static Utilisation read(Path file) throws IOException {
    String text = Files.readString(file).trim();
    String[] fields = text.split("\\s+");
    try {
      double cores = Double.parseDouble(fields[0]);
      double megabytes = fields.length > 1 ? Double.parseDouble(fields[1]) : 0;
      if (fields.length <= 2 && cores >= 0 && megabytes >= 0) { // neither holds for NaN
        return new Utilisation(cores, megabytes);
      }
    } catch (NumberFormatException error) {
      // Reported below.
    }
    throw new IOException(file + " has \"" + text + "\": expected a share of cores, 0 to 1, and optional MB of memory");
  }
}
