package hindmost.search;

import com.sun.management.OperatingSystemMXBean;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.Executors;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;

/**
 * A search service like the paper's primary tenants: SearchServer PORT DOCUMENTS [LOAD_FILE]. GET /search?q=WORD+WORD
 * returns the ten best of the random documents. The frequencies of their words (w1, w2, ...) follow Zipf's law. The
 * server writes its utilisation of the available processors to LOAD_FILE every period.
 */
public final class SearchServer {
  private static final int BEST = 10;
  private static final int PERIOD_MILLIS = 500;

  private final IndexSearcher searcher;

  private SearchServer(int documents) throws IOException {
    searcher = new IndexSearcher(DirectoryReader.open(Corpus.index(documents)));
  }

  public static void main(String[] arguments) {
    // Without this, answers wait for the client's delayed acknowledgement.
    System.setProperty("sun.net.httpserver.nodelay", "true");
    try {
      SearchServer search = new SearchServer(Integer.parseInt(arguments[1]));
      HttpServer server =
          HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 1024);
      server.createContext("/search", search::answer);
      server.setExecutor(Executors.newFixedThreadPool(2 * Runtime.getRuntime().availableProcessors()));
      server.start();
      System.out.println("searching " + arguments[1] + " documents at port " + server.getAddress().getPort());
      if (arguments.length > 2) {
        writeLoad(Path.of(arguments[2]));
      }
    } catch (Throwable failure) {
      failure.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
  }

  private void answer(HttpExchange exchange) throws IOException {
    String query = exchange.getRequestURI().getRawQuery();
    boolean valid = query != null && query.startsWith("q=") && query.length() > 2;
    byte[] body = (valid ? best(query.substring(2)) : "{\"error\": \"/search?q=WORD+WORD\"}\n")
        .getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.sendResponseHeaders(valid ? 200 : 400, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  private String best(String words) throws IOException {
    BooleanQuery.Builder any = new BooleanQuery.Builder();
    for (String word : words.split("[+]", 16)) {
      any.add(new TermQuery(new Term(Corpus.TEXT, word)), BooleanClause.Occur.SHOULD);
    }
    TopDocs top = searcher.search(any.build(), BEST);
    StringBuilder text = new StringBuilder("{\"found\": " + top.totalHits.value + ", \"best\": [");
    for (ScoreDoc hit : top.scoreDocs) {
      text.append(hit == top.scoreDocs[0] ? "" : ", ").append(hit.doc);
    }
    return text.append("]}\n").toString();
  }

  private static void writeLoad(Path path) throws IOException, InterruptedException {
    OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    Path temporary = path.resolveSibling(path.getFileName() + ".new");
    long worked = system.getProcessCpuTime();
    for (long at = System.nanoTime();;) {
      Thread.sleep(PERIOD_MILLIS);
      long now = System.nanoTime();
      long then = system.getProcessCpuTime();
      double share = (double) (then - worked) / (now - at) / Runtime.getRuntime().availableProcessors();
      Files.writeString(temporary, String.format("%.4f %d%n", share, residentMegabytes()));
      Files.move(temporary, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
      worked = then;
      at = now;
    }
  }

  private static long residentMegabytes() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmRSS:")) {
        return Long.parseLong(line.replaceAll("[^0-9]", "")) / 1024; // kB
      }
    }
    throw new IOException("/proc/self/status has no VmRSS");
  }
}
