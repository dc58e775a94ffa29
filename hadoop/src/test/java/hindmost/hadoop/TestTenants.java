package hindmost.hadoop;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.zip.CRC32;

/** The tenants of a test cluster: hosts dn0, dn1, ...; two hosts per tenant, one tenant per environment. */
public final class TestTenants {
  private TestTenants() {}

  public static String host(int number) {
    return "dn" + number + ".test";
  }

  public static int tenant(int host) {
    return host / 2;
  }

  /** Return the text of a complete file of tenants. */
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
    return withChecksum(text.toString());
  }

  /** Append the end line with the checksum of the text. */
  public static String withChecksum(String text) {
    CRC32 crc = new CRC32();
    crc.update(text.getBytes(StandardCharsets.UTF_8));
    return text + String.format("end\t%08x%n", crc.getValue());
  }

  /** Replace a file atomically, as an operator's tools should. */
  public static void write(Path path, String text) throws IOException {
    Path temporary = path.resolveSibling(path.getFileName() + ".new");
    Files.writeString(temporary, text);
    Files.move(temporary, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
  }
}
