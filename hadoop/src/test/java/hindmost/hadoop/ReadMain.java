package hindmost.hadoop;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;

/** What hindmost harvest export wrote, as Hadoop reads it: ReadMain TENANTS [SITE...]. */
public final class ReadMain {
  public static void main(String[] arguments) {
    Check.main("files", () -> {
      TenantsFile file = TenantsFile.read(Path.of(arguments[0]));
      System.out.printf("%d tenants, %d hosts, %d classes%n", file.tenants.size(), file.hosts.size(), file.classes.size());
      for (int at = 1; at < arguments.length; at++) {
        site(Path.of(arguments[at]));
      }
    });
  }

  /** Every key of ours is one that the plug-ins look for, every class of ours is there. */
  private static void site(Path path) throws Exception {
    Configuration conf = new Configuration(false);
    conf.addResource(new org.apache.hadoop.fs.Path(path.toUri()));
    Set<String> ours = keys();
    int n = 0;
    for (Map.Entry<String, String> one : conf) {
      n++;
      if (one.getKey().startsWith("hindmost.")) {
        Check.that(ours.contains(one.getKey()), path + ": nobody looks for " + one.getKey());
      }
      if (one.getValue().matches("(hindmost|org\\.apache)\\.[\\w.]*\\.[A-Z][\\w$]*")) {
        Class.forName(one.getValue());
      }
    }
    System.out.printf("%s: %d keys, reserve %s, grace %s, order %s%n", path.getFileName(), n, conf.get(Keys.RESERVE),
        conf.get(Keys.GRACE), conf.get("yarn.scheduler.capacity.multi-node-sorting.policy.harvest.class"));
  }

  private static Set<String> keys() throws IllegalAccessException {
    Set<String> found = new HashSet<>();
    for (Field field : Keys.class.getFields()) {
      if (Modifier.isStatic(field.getModifiers()) && field.getType() == String.class) {
        found.add((String) field.get(null));
      }
    }
    return found;
  }
}
