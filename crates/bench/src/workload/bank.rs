//! Accounts, and transfers between them: transactions of four prepared statements by key.

use super::filling::create_rows;
use crate::Result;
use crate::engine::{Datum, SqlSession, SqlStatement};
use crate::keys::Keys;

/// Of each account at first.
pub const BALANCE: i64 = 1_000_000;
const MOST: i64 = 100;

const NOTES: &str = "CREATE TABLE note (id BIGINT PRIMARY KEY, debited BIGINT NOT NULL, credited BIGINT NOT NULL, \
                     amount BIGINT NOT NULL, balance BIGINT NOT NULL)";

/// Makes the accounts (ids below `accounts`), and the table in which every transfer is noted.
pub fn create(session: &dyn SqlSession, accounts: i64) -> Result<()> {
    create_rows(session, "account", accounts, BALANCE)?;
    session.script(NOTES)
}

/// No amount may have been made or lost, and as many notes must be there as transfers were acknowledged.
pub fn check(session: &dyn SqlSession, accounts: i64, transfers: u64) -> Result<()> {
    let ask = |sql: &str| -> Result<f64> { Ok(session.prepare(sql)?.first(&[])?.sum) };
    let (sum, expected) = (ask("SELECT sum(n) FROM account")?, (accounts * BALANCE) as f64);
    let notes = ask("SELECT count(*) FROM note")?;
    if sum == expected && notes == transfers as f64 {
        return Ok(());
    }
    Err(format!("the accounts hold {sum}, not {expected}; there are {notes} notes of {transfers} transfers").into())
}

/// One thread's statements.
pub struct Transfers<'s> {
    session: &'s dyn SqlSession,
    accounts: i64,
    keys: Keys,
    debit: Box<dyn SqlStatement + 's>,
    balance: Box<dyn SqlStatement + 's>,
    credit: Box<dyn SqlStatement + 's>,
    note: Box<dyn SqlStatement + 's>,
}

impl<'s> Transfers<'s> {
    pub fn new(session: &'s dyn SqlSession, accounts: i64, seed: u64) -> Result<Transfers<'s>> {
        Ok(Transfers {
            session,
            accounts,
            keys: Keys::new(seed),
            debit: session.prepare("UPDATE account SET n = n - $1 WHERE id = $2")?,
            balance: session.prepare("SELECT n FROM account WHERE id = $1")?,
            credit: session.prepare("UPDATE account SET n = n + $1 WHERE id = $2")?,
            note: session.prepare("INSERT INTO note VALUES ($1, $2, $3, $4, $5)")?,
        })
    }

    /// Moves an amount between two random accounts, and notes it under this number; how many tries it took.
    pub fn run(&mut self, number: i64) -> Result<u64> {
        let from = self.keys.below(self.accounts);
        let to = (from + 1 + self.keys.below(self.accounts - 1)) % self.accounts;
        let [from, to, amount] = [from, to, 1 + self.keys.below(MOST)].map(Datum::Int);
        let mut tries = 0;
        self.session.transaction(&mut || {
            tries += 1;
            self.debit.execute(&[amount, from])?;
            // An integer far below 2^53: exact.
            let left = self.balance.first(&[from])?.sum as i64;
            self.credit.execute(&[amount, to])?;
            self.note.execute(&[Datum::Int(number), from, to, amount, Datum::Int(left)]).map(drop)
        })?;
        Ok(tries)
    }
}
