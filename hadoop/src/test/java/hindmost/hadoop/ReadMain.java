package hindmost.hadoop;

import java.nio.file.Path;

/** A file of tenants that hindmost harvest hadoop-config wrote: ReadMain FILE. */
public final class ReadMain {
  public static void main(String[] arguments) {
    Check.main("file of tenants", () -> {
      TenantsFile file = TenantsFile.read(Path.of(arguments[0]));
      System.out.printf("%d tenants, %d hosts%n", file.tenants.size(), file.hosts.size());
    });
  }
}
