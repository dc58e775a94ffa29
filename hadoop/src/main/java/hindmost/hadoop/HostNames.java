package hindmost.hadoop;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Numbers of hosts by name. Letter case and a final dot do not matter. A short name stands for the one full name that
 * begins with it, and a full name for its short one; two full names are two hosts. Addresses are taken as they are.
 */
final class HostNames {
  private static final Pattern ADDRESS = Pattern.compile("[0-9.]+|.*:.*");
  private static final int AMBIGUOUS = -2;

  private final Map<String, Integer> byName = new HashMap<>();
  /** Of full names, by their first label. */
  private final Map<String, Integer> byLabel = new HashMap<>();

  /** Adds a host; false where it is there already. */
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

  /** The number of a host; -1 where it is unknown, or its short name may mean several hosts. */
  int number(String host) {
    Integer found = byName.get(host); // most names come as they are written
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
