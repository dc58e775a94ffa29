// The Xapian calls that search.rs needs, without exceptions or objects at the interface.

#include <cstdint>
#include <string>
#include <vector>

#include <xapian.h>

namespace {

thread_local std::string fault;

struct Index {
    Xapian::WritableDatabase database;
    Xapian::TermGenerator terms;
};

struct Reader {
    Xapian::Database database;
    Xapian::Enquire enquire;
    explicit Reader(const char *path) : database(path), enquire(database) {}
};

// Runs `work`; the text of an exception is stored.
template <typename Work> bool done(Work work) {
    try {
        work();
        return true;
    } catch (const Xapian::Error &error) {
        fault = error.get_description();
    } catch (const std::exception &error) {
        fault = error.what();
    }
    return false;
}

} // namespace

extern "C" {

const char *originals_fault() { return fault.c_str(); }

Index *originals_index_open(const char *path) {
    Index *index = nullptr;
    done([&] {
        index = new Index;
        index->database = Xapian::WritableDatabase(path, Xapian::DB_CREATE | Xapian::DB_NO_SYNC);
    }) || (delete index, index = nullptr);
    return index;
}

int originals_index_add(Index *index, const char *text) {
    return done([&] {
        Xapian::Document document;
        document.set_data(text);
        index->terms.set_document(document);
        index->terms.index_text(text);
        index->database.add_document(document);
    }) ? 0 : -1;
}

int originals_index_close(Index *index) {
    const bool whole = done([&] { index->database.commit(); });
    delete index;
    return whole ? 0 : -1;
}

Reader *originals_reader_open(const char *path) {
    Reader *reader = nullptr;
    done([&] { reader = new Reader(path); });
    return reader;
}

// Kind 0: any of the terms, ranked; 1: all of them; 2: as a phrase. Also fetches the best documents.
int originals_reader_ask(Reader *reader, int kind, const char *const *terms, uint32_t count, uint32_t results,
                         uint64_t *digest) {
    return done([&] {
        static const Xapian::Query::op OPERATORS[] = {
            Xapian::Query::OP_OR, Xapian::Query::OP_AND, Xapian::Query::OP_PHRASE};
        const std::vector<std::string> words(terms, terms + count);
        reader->enquire.set_query(Xapian::Query(OPERATORS[kind], words.begin(), words.end(),
                                                kind == 2 ? count : 0));
        const Xapian::MSet found = reader->enquire.get_mset(0, results);
        *digest = found.get_matches_estimated();
        for (auto one = found.begin(); one != found.end(); ++one) {
            *digest = *digest * 31 + *one + one.get_document().get_data().size();
        }
    }) ? 0 : -1;
}

void originals_reader_close(Reader *reader) { delete reader; }

} // extern "C"
