package hindmost.search;

import java.io.IOException;
import java.util.Random;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;

/** A corpus of random documents with a fixed seed, in memory. */
final class Corpus {
  static final String TEXT = "text";
  private static final int VOCABULARY = 20_000;
  private static final int WORDS = 60;

  private Corpus() {}

  static Directory index(int documents) throws IOException {
    Directory directory = new ByteBuffersDirectory();
    Random random = new Random(1);
    try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(new StandardAnalyzer()))) {
      for (int number = 0; number < documents; number++) {
        StringBuilder text = new StringBuilder();
        for (int word = 0; word < WORDS; word++) {
          // Draws from Zipf's law with exponent 1, approximately.
          text.append('w').append((int) Math.pow(VOCABULARY, random.nextDouble())).append(' ');
        }
        Document document = new Document();
        document.add(new TextField(TEXT, text.toString(), Field.Store.NO));
        writer.addDocument(document);
      }
      writer.forceMerge(1);
    }
    return directory;
  }
}
