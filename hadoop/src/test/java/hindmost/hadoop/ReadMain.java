package hindmost.hadoop;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;

/** Reads the files that hindmost harvest export wrote, as Hadoop does: ReadMain TENANTS [SITE...]. */
public final class ReadMain {
  public static void main(String[] arguments) {
    Check.main("files", () -> {
      TenantsFile file = TenantsFile.read(Path.of(arguments[0]));
      System.out.printf("%d tenants, %d hosts, %d classes%n", file.tenants.size(), file.hosts.size(), file.classes.size());
      for (int at = 1; at < arguments.length; at++) {
        checkSite(Path.of(arguments[at]));
      }
    });
  }

  /** Check that the plug-ins read every key with the prefix hindmost, and that every class exists. */
  private static void checkSite(Path path) throws Exception {
    Configuration conf = new Configuration(false);
    conf.addResource(new org.apache.hadoop.fs.Path(path.toUri()));
    Set<String> known = keys();
    int count = 0;
    for (Map.Entry<String, String> one : conf) {
      count++;
      if (one.getKey().startsWith("hindmost.")) {
        Check.that(known.contains(one.getKey()), path + ": no plug-in reads " + one.getKey());
      }
      if (one.getValue().matches("(hindmost|org\\.apache)\\.[\\w.]*\\.[A-Z][\\w$]*")) {
        Class.forName(one.getValue());
      }
    }
    System.out.printf("%s: %d keys, reserve %s, grace %s, order %s%n", path.getFileName(), count, conf.get(Keys.RESERVE),
        conf.get(Keys.GRACE), conf.get("yarn.scheduler.capacity.multi-node-sorting.policy.harvest.class"));
  }

  private static Set<String> keys() throws IllegalAccessException {
    Set<String> names = new HashSet<>();
    for (Field field : Keys.class.getFields()) {
      if (Modifier.isStatic(field.getModifiers()) && field.getType() == String.class) {
        names.add((String) field.get(null));
      }
    }
    return names;
  }
}
