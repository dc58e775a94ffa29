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
 * The tenants and their servers. A file is read completely or not at all.
 *
 * <pre>
 *  # hindmost.harvest.tenants/1
 *  class   NUMBER  PATTERN  MEAN  PEAK                         (utilisation of its servers; a file may have no classes)
 *  tenant  NAME  ENVIRONMENT  REIMAGES  PEAK  SPACE  CLASS     (columns separated by tabs; CLASS may be -1: none)
 *  host    HOST  TENANT
 *  end     CRC32 of all bytes above, in hexadecimal; without it the file is torn
 * </pre>
 */
public final class TenantsFile {
  private static final String HEAD = "# hindmost.harvest.tenants/1";

  public final List<Tenant> tenants;
  final HostNames names;
  public final List<String> hosts;
  /** Classes of utilisation by number. */
  public final Map<Integer, Selector.ClassState> classes;

  private TenantsFile(List<Tenant> tenants, HostNames names, List<String> hosts,
      Map<Integer, Selector.ClassState> classes) {
    this.tenants = tenants;
    this.names = names;
    this.hosts = hosts;
    this.classes = classes;
  }

  /** Read a file; a torn file or an invalid line is an IOException. */
  public static TenantsFile read(Path path) throws IOException {
    byte[] bytes = Files.readAllBytes(path);
    String text = new String(bytes, StandardCharsets.UTF_8);
    int end = text.lastIndexOf("end\t");
    if (!text.startsWith(HEAD + "\n") || end < 0) {
      throw new IOException(path + " is torn or is not a file of tenants: it has no " + (end < 0 ? "end" : HEAD));
    }
    CRC32 crc = new CRC32();
    crc.update(text.substring(0, end).getBytes(StandardCharsets.UTF_8));
    String found = text.substring(end + 4).trim();
    if (!found.equals(String.format("%08x", crc.getValue()))) {
      throw new IOException(path + " is torn: its checksum is not " + found);
    }
    Map<String, Integer> environments = new HashMap<>();
    Map<String, String[]> rows = new LinkedHashMap<>();
    Map<String, List<Integer>> serversOf = new HashMap<>();
    HostNames names = new HostNames();
    List<String> hosts = new ArrayList<>();
    Map<Integer, Selector.ClassState> classes = new HashMap<>();
    int number = 0;
    for (String line : text.substring(0, end).split("\n")) {
      number++;
      String[] fields = line.split("\t");
      if (fields[0].equals("tenant") && fields.length == 7) {
        rows.put(fields[1], fields);
        environments.putIfAbsent(fields[2], environments.size());
        serversOf.put(fields[1], new ArrayList<>());
      } else if (fields[0].equals("host") && fields.length == 3 && serversOf.containsKey(fields[2])
          && names.add(fields[1], hosts.size())) {
        serversOf.get(fields[2]).add(hosts.size());
        hosts.add(fields[1]);
      } else if (fields[0].equals("class") && fields.length == 5) {
        parseClass(classes, fields, path + ":" + number);
      } else if (!line.startsWith("#")) {
        throw new IOException(path + ":" + number + " is not a class, a tenant or a new host of a tenant: " + line);
      }
    }
    List<Tenant> tenants = new ArrayList<>();
    for (String[] fields : rows.values()) {
      try {
        int[] numbers = serversOf.get(fields[1]).stream().mapToInt(server -> server).toArray();
        tenants.add(new Tenant(fields[1], environments.get(fields[2]), share(fields[3]), share(fields[4]),
            share(fields[5]), Integer.parseInt(fields[6]), numbers));
      } catch (NumberFormatException error) {
        throw new IOException(path + ": tenant " + fields[1] + ": " + error.getMessage());
      }
    }
    if (hosts.isEmpty()) {
      throw new IOException(path + " has no host");
    }
    return new TenantsFile(tenants, names, hosts, classes);
  }

  private static void parseClass(Map<Integer, Selector.ClassState> classes, String[] fields, String where)
      throws IOException {
    try {
      Selector.Pattern pattern = Selector.Pattern.valueOf(fields[2].toUpperCase(Locale.ROOT));
      classes.put(Integer.parseInt(fields[1]), new Selector.ClassState(pattern, share(fields[3]), share(fields[4]), 0, 0));
    } catch (IllegalArgumentException error) { // includes NumberFormatException
      throw new IOException(where + " is not a class: " + error.getMessage());
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
