package hindmost.hadoop;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Maps names of hosts to numbers. Letter case and a final dot do not matter. A short name matches the only full name
 * that begins with it, and a full name matches its short name; two full names are two hosts. Addresses match exactly.
 */
final class HostNames {
  private static final Pattern ADDRESS = Pattern.compile("[0-9.]+|.*:.*");
  private static final int AMBIGUOUS = -2;

  private final Map<String, Integer> byName = new HashMap<>();
  /** Numbers of full names by their first label. */
  private final Map<String, Integer> byLabel = new HashMap<>();

  /** Add a host; false if it is already present. */
  boolean add(String host, int number) {
    String name = canonical(host);
    if (byName.putIfAbsent(name, number) != null) {
      return false;
    }
    String label = label(name);
    if (!label.equals(name)) {
      byLabel.merge(label, number, (one, other) -> AMBIGUOUS);
    }
    return true;
  }

  /** Return the number of a host; -1 if it is unknown or its short name is ambiguous. */
  int number(String host) {
    Integer found = byName.get(host); // fast path: most names are already canonical
    if (found != null) {
      return found;
    }
    String name = canonical(host);
    found = byName.get(name);
    if (found == null) {
      String label = label(name);
      found = label.equals(name) ? byLabel.get(name) : byName.get(label);
    }
    return found == null || found == AMBIGUOUS ? -1 : found;
  }

  static String canonical(String host) {
    String lower = host.toLowerCase(Locale.ROOT);
    return lower.endsWith(".") ? lower.substring(0, lower.length() - 1) : lower;
  }

  static String label(String name) {
    int dot = name.indexOf('.');
    return dot < 0 || ADDRESS.matcher(name).matches() ? name : name.substring(0, dot);
  }
}
