package hindmost.hadoop;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.zip.CRC32;

/** Tenants of a test cluster: hosts dn0, dn1, ...; two to a tenant, environments of one tenant each. */
public final class World {
  private World() {}

  public static String host(int number) {
    return "dn" + number + ".test";
  }

  public static int tenant(int host) {
    return host / 2;
  }

  /** The text of a file of tenants with its end. */
  public static String tenants(int hosts) {
    StringBuilder text = new StringBuilder("# hindmost.harvest.tenants/1\n");
    int tenants = (hosts + 1) / 2;
    for (int at = 0; at < tenants; at++) {
      double reimages = at * 7 % tenants / (double) tenants;
      double peak = at * 5 % tenants / (double) tenants;
      text.append(String.format("tenant\tt%d\te%d\t%s\t%s\t2.0\t%d%n", at, at, reimages, peak, at % 3));
    }
    for (int at = 0; at < hosts; at++) {
      text.append(String.format("host\t%s\tt%d%n", host(at), tenant(at)));
    }
    return closed(text.toString());
  }

  /** A text with the end that its checksum makes. */
  public static String closed(String text) {
    CRC32 crc = new CRC32();
    crc.update(text.getBytes(StandardCharsets.UTF_8));
    return text + String.format("end\t%08x%n", crc.getValue());
  }

  /** Replaces a file at once, as an operator's tools should. */
  public static void write(Path path, String text) throws IOException {
    Path beside = path.resolveSibling(path.getFileName() + ".new");
    Files.writeString(beside, text);
    Files.move(beside, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
  }
}
