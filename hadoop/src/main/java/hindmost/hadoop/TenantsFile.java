package hindmost.hadoop;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.zip.CRC32;

/**
 * Tenants and their servers, read whole or not at all.
 *
 * <pre>
 *  # hindmost.harvest.tenants/1
 *  class   NUMBER  PATTERN  MEAN  PEAK                         (of its servers' utilisation; a file may have none)
 *  tenant  NAME  ENVIRONMENT  REIMAGES  PEAK  SPACE  CLASS     (columns by tabs; CLASS is -1 where there is none)
 *  host    HOST  TENANT
 *  end     CRC32 of all bytes above, in hexadecimal: without it the file is torn
 * </pre>
 */
public final class TenantsFile {
  private static final String HEAD = "# hindmost.harvest.tenants/1";

  public final List<Tenant> tenants;
  final HostNames names;
  public final List<String> hosts;
  /** Classes of utilisation by number. */
  public final Map<Integer, Selector.Room> classes;

  private TenantsFile(List<Tenant> tenants, HostNames names, List<String> hosts,
      Map<Integer, Selector.Room> classes) {
    this.tenants = tenants;
    this.names = names;
    this.hosts = hosts;
    this.classes = classes;
  }

  /** Reads a file; what is torn or cannot be meant is an IOException with its line. */
  public static TenantsFile read(Path path) throws IOException {
    byte[] bytes = Files.readAllBytes(path);
    String text = new String(bytes, StandardCharsets.UTF_8);
    int end = text.lastIndexOf("end\t");
    if (!text.startsWith(HEAD + "\n") || end < 0) {
      throw new IOException(path + " is torn, or no file of tenants: it has no " + (end < 0 ? "end" : HEAD));
    }
    CRC32 crc = new CRC32();
    crc.update(text.substring(0, end).getBytes(StandardCharsets.UTF_8));
    String found = text.substring(end + 4).trim();
    if (!found.equals(String.format("%08x", crc.getValue()))) {
      throw new IOException(path + " is torn: its checksum is not " + found);
    }
    Map<String, Integer> environments = new HashMap<>();
    Map<String, String[]> rows = new LinkedHashMap<>();
    Map<String, List<Integer>> own = new HashMap<>();
    HostNames names = new HostNames();
    List<String> hosts = new ArrayList<>();
    Map<Integer, Selector.Room> classes = new HashMap<>();
    int number = 0;
    for (String line : text.substring(0, end).split("\n")) {
      number++;
      String[] of = line.split("\t");
      if (of[0].equals("tenant") && of.length == 7) {
        rows.put(of[1], of);
        environments.putIfAbsent(of[2], environments.size());
        own.put(of[1], new ArrayList<>());
      } else if (of[0].equals("host") && of.length == 3 && own.containsKey(of[2]) && names.add(of[1], hosts.size())) {
        own.get(of[2]).add(hosts.size());
        hosts.add(of[1]);
      } else if (of[0].equals("class") && of.length == 5) {
        room(classes, of, path + ":" + number);
      } else if (!line.startsWith("#")) {
        throw new IOException(path + ":" + number + " is no class, no tenant and no new host of one: " + line);
      }
    }
    List<Tenant> tenants = new ArrayList<>();
    for (String[] of : rows.values()) {
      try {
        int[] numbers = own.get(of[1]).stream().mapToInt(at -> at).toArray();
        tenants.add(new Tenant(of[1], environments.get(of[2]), share(of[3]), share(of[4]), share(of[5]),
            Integer.parseInt(of[6]), numbers));
      } catch (NumberFormatException error) {
        throw new IOException(path + ": tenant " + of[1] + ": " + error.getMessage());
      }
    }
    if (hosts.isEmpty()) {
      throw new IOException(path + " has no host");
    }
    return new TenantsFile(tenants, names, hosts, classes);
  }

  private static void room(Map<Integer, Selector.Room> classes, String[] of, String where) throws IOException {
    try {
      Selector.Pattern pattern = Selector.Pattern.valueOf(of[2].toUpperCase(Locale.ROOT));
      classes.put(Integer.parseInt(of[1]), new Selector.Room(pattern, share(of[3]), share(of[4]), 0, 0));
    } catch (IllegalArgumentException error) { // of a number, too
      throw new IOException(where + " is no class: " + error.getMessage());
    }
  }

  private static double share(String text) {
    double number = Double.parseDouble(text);
    if (!Double.isFinite(number) || number < 0) {
      throw new NumberFormatException(text + " is not 0 or above");
    }
    return number;
  }
}
