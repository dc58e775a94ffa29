package hindmost.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** What a host's primary tenant uses, as a file says it: "SHARE" of its cores, or "SHARE MEGABYTES" of memory, too. */
public final class Utilisation {
  /** What counts where nothing is known. */
  public static final Utilisation ALL = new Utilisation(1, Double.POSITIVE_INFINITY);

  /** Share of the host's cores, 0 to 1. */
  public final double cores;
  /** Resident memory in MB; 0 where the file does not say. */
  public final double megabytes;

  Utilisation(double cores, double megabytes) {
    this.cores = cores;
    this.megabytes = megabytes;
  }

  /** Reads a host's file; all of the host where it cannot be read, for whoever must not take from the tenant. */
  public static Utilisation orAll(String pattern, String host) {
    try {
      return read(pattern, host);
    } catch (IOException error) {
      return ALL;
    }
  }

  /** Reads a host's file, in whose name %h is the host as it is, in lower case, or without its domain. */
  public static Utilisation read(String pattern, String host) throws IOException {
    String name = HostNames.canonical(host);
    for (String each : List.of(host, name, HostNames.label(name))) {
      Path file = Path.of(pattern.replace("%h", each));
      if (Files.exists(file)) {
        return read(file);
      }
    }
    throw new NoSuchFileException(pattern.replace("%h", host));
  }

  /** Reads the file; an error says what in it is no utilisation. */
  static Utilisation read(Path file) throws IOException {
    String text = Files.readString(file).trim();
    String[] of = text.split("\\s+");
    try {
      double cores = Double.parseDouble(of[0]);
      double megabytes = of.length > 1 ? Double.parseDouble(of[1]) : 0;
      if (of.length <= 2 && cores >= 0 && megabytes >= 0) { // neither holds for NaN
        return new Utilisation(cores, megabytes);
      }
    } catch (NumberFormatException error) {
      // Said below, as all else that is none.
    }
    throw new IOException(file + " has \"" + text + "\": expected a share of cores, 0 to 1, and MB of memory or nothing");
  }
}
