//! `SQLite`: customers and their orders in one file on tmpfs, with a write-ahead log and without waiting for disks.
//!
//! Each worker has a connection; the library's own locks order writers. The log is checkpointed into the table file
//! every 1,000 pages by the next update: a rare and slow kind of service that no request draws explicitly.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rand_pcg::Pcg64;
use rusqlite::{params, Connection, OpenFlags, TransactionBehavior};

use super::words::Words;
use crate::program::{Fault, Outcome, Program, Worker};
use crate::random::{self, below, choose, log_uniform, Purpose};

const KINDS: &[&str] = &["point", "range", "rank", "update"];
const SHARES: &[f64] = &[0.60, 0.20, 0.05, 0.15];
const CUSTOMERS: usize = 5_000;
const ORDERS: usize = 60_000;
const PRODUCTS: usize = 200;

const SCHEMA: &str = "
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, balance INTEGER NOT NULL);
CREATE TABLE purchase (
    id INTEGER PRIMARY KEY, customer INTEGER NOT NULL, product INTEGER NOT NULL,
    day INTEGER NOT NULL, cents INTEGER NOT NULL, note TEXT NOT NULL);
";
const INDEXES: &str = "
CREATE INDEX purchase_customer ON purchase (customer, day);
CREATE INDEX purchase_product ON purchase (product);
ANALYZE;
";
const POINT: &str = "SELECT name, balance FROM customer WHERE id = ?1";
const LATEST: &str = "SELECT id, cents, note FROM purchase WHERE customer = ?1 ORDER BY day DESC LIMIT 20";
const RANGE: &str = "SELECT count(*), sum(cents), max(length(note)) FROM purchase WHERE id BETWEEN ?1 AND ?2";
const RANK: &str = "SELECT customer, sum(cents) AS spent FROM purchase WHERE product = ?1 \
                    GROUP BY customer ORDER BY spent DESC LIMIT 10";
const PAY: &str = "UPDATE customer SET balance = balance + ?2 WHERE id = ?1";
const CHANGE: &str = "UPDATE purchase SET cents = (cents * 31 + ?2) % 100000 WHERE id = ?1";

struct Sqlite {
    file: PathBuf,
}

struct Session {
    connection: Connection,
}

/// Fill the tables.
pub fn make(seed: u64, folder: &Path) -> Result<Box<dyn Program>, Fault> {
    let mut random = random::generator_of_purpose(seed, Purpose::Build);
    let words = Words::new(&mut random, 2_000, 1.0);
    let file = folder.join("shop.db");
    let mut connection = Connection::open(&file)?;
    connection.execute_batch(SCHEMA)?;
    let filling = connection.transaction()?;
    {
        let mut add = filling.prepare("INSERT INTO customer VALUES (?1, ?2, 0)")?;
        for id in 0..CUSTOMERS {
            add.execute(params![id, format!("{} {}", words.draw(&mut random), words.draw(&mut random))])?;
        }
        let mut add = filling.prepare("INSERT INTO purchase VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        for id in 0..ORDERS {
            let mut note = String::new();
            let length = 2 + below(&mut random, 12);
            words.write(&mut random, length, &mut note);
            let (customer, product) = (popular(&mut random, CUSTOMERS), popular(&mut random, PRODUCTS));
            add.execute(params![id, customer, product, id / 200, below(&mut random, 100_000), note])?;
        }
    }
    filling.commit()?;
    connection.execute_batch(INDEXES)?;
    Ok(Box::new(Sqlite { file }))
}

/// Small numbers are more popular: a quarter of the draws falls on the first sixteenth.
fn popular(random: &mut Pcg64, bound: usize) -> usize {
    (random::unit(random).powi(2) * bound as f64) as usize % bound
}

impl Program for Sqlite {
    fn kinds(&self) -> &'static [&'static str] {
        KINDS
    }

    fn worker(&self) -> Result<Box<dyn Worker + '_>, Fault> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.file, flags)?;
        connection.execute_batch("PRAGMA synchronous = OFF")?;
        connection.busy_timeout(Duration::from_secs(60))?; // another worker's update is short
        Ok(Box::new(Session { connection }))
    }
}

impl Session {
    fn ask(&mut self, kind: usize, random: &mut Pcg64) -> rusqlite::Result<i64> {
        match kind {
            0 => {
                let customer = popular(random, CUSTOMERS);
                let mut query = self.connection.prepare_cached(POINT)?;
                let mut digest = query.query_row([customer], |row| {
                    Ok(row.get_ref(0)?.as_str()?.len() as i64 + row.get::<_, i64>(1)?)
                })?;
                let mut query = self.connection.prepare_cached(LATEST)?;
                let mut rows = query.query([customer])?;
                while let Some(row) = rows.next()? {
                    digest += row.get::<_, i64>(0)?
                        ^ row.get::<_, i64>(1)?
                        ^ row.get_ref(2)?.as_str()?.len() as i64;
                }
                Ok(digest)
            }
            1 => {
                let length = log_uniform(random, 50.0, 5_000.0) as usize;
                let first = below(random, ORDERS - length);
                let mut query = self.connection.prepare_cached(RANGE)?;
                query.query_row([first, first + length], |row| {
                    Ok(row.get::<_, i64>(0)? ^ row.get::<_, i64>(1)?)
                })
            }
            2 => {
                let mut query = self.connection.prepare_cached(RANK)?;
                let mut rows = query.query([popular(random, PRODUCTS)])?;
                let mut digest = 0;
                while let Some(row) = rows.next()? {
                    digest = digest * 31 + row.get::<_, i64>(0)? + row.get::<_, i64>(1)?;
                }
                Ok(digest)
            }
            _ => {
                let change = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                let rows = 1 + below(random, 4);
                for _ in 0..rows {
                    let (id, by) = (popular(random, ORDERS), below(random, 1000));
                    change.prepare_cached(CHANGE)?.execute([id, by])?;
                }
                change.prepare_cached(PAY)?.execute([popular(random, CUSTOMERS), rows])?;
                change.commit()?;
                Ok(rows as i64)
            }
        }
    }
}

impl Worker for Session {
    fn serve(&mut self, random: &mut Pcg64) -> Outcome {
        let kind = choose(random, SHARES);
        let digest = self.ask(kind, random).expect("the tables are complete and not locked for a minute");
        Outcome { kind, digest: digest as u64 }
    }
}
