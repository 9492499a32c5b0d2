//! What a text leads to: blocks, days, transactions, outputs, scripts. Everything that is there, for people to choose.

use bitcoin::{OutPoint, Script, ScriptBuf, Txid};
use hindsight_shared::api::SearchHit;
use hindsight_shared::script::address;
use hindsight_shared::search::{BlockId, NotAScript, Term, parse_search, script_of, scripts_of};

use super::{Explorer, QueryError};

impl Explorer {
    /// Everything that a text may mean and that is there, likeliest first. What is not indexed yet is not found.
    ///
    /// # Errors
    /// Where the index cannot be read.
    pub fn search(&self, text: &str) -> Result<Vec<SearchHit>, QueryError> {
        let text = text.trim();
        let mut hits = Vec::new();
        match parse_search(text) {
            Ok(Term::Block(id)) => hits.extend(self.block_hit(id)),
            Ok(Term::Day(day)) => hits.push(SearchHit::Day { day }),
            Err(_) => {}
        }
        if let Ok(OutPoint { txid, vout }) = text.parse() {
            hits.extend(self.is_there(txid)?.then_some(SearchHit::Output { txid, vout }));
        }
        let digits = text.to_ascii_lowercase();
        hits.extend(self.beginning_with(&digits)?.into_iter().map(|txid| SearchHit::Transaction { txid }));
        let network = self.chain.read().network();
        for (script, certain) in scripts_of(text, network) {
            if certain || self.is_touched(&script)? {
                hits.push(SearchHit::Address { address: address(&script, network), script });
            }
        }
        Ok(hits)
    }

    /// The script that a text names: an address of this chain's network, or the script itself in hex.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn script(&self, text: &str) -> Result<ScriptBuf, NotAScript> {
        script_of(text, self.chain.read().network())
    }

    fn block_hit(&self, id: BlockId) -> Option<SearchHit> {
        let chain = self.chain.read();
        let node = self.known(&chain, id).ok()?;
        Some(SearchHit::Block { hash: node.hash, height: node.height })
    }

    fn is_there(&self, txid: Txid) -> Result<bool, QueryError> {
        Ok(self.beginning_with(&txid.to_string())?.contains(&txid))
    }

    /// Whether a transaction pays a script; that is not known where scripts are not indexed.
    fn is_touched(&self, script: &Script) -> Result<bool, QueryError> {
        match self.history(script, None, 1) {
            Err(QueryError::NotIndexed(_)) => Ok(false),
            rows => Ok(!rows?.is_empty()),
        }
    }
}
