import assert from 'node:assert/strict'
import { it } from 'node:test'
import { transactionControl } from '../../src/sql/transaction-control.ts'

const commands: Readonly<Record<string, string>> = {
  commit: 'commit',
  'COMMIT AND CHAIN': 'commit',
  '  \n\tBegin': 'begin',
  'start\n transaction': 'start transaction',
  'end;': 'end',
  'abort work': 'abort',
  'rollback to a': 'rollback',
  'savepoint a': 'savepoint',
  'release a': 'release',
  "prepare  transaction 'x'": 'prepare transaction',
  '-- a\ncommit': 'commit',
  '/* a /* nested */ b */ commit': 'commit',
  'select 1; commit': 'commit',
  ';;commit': 'commit',
  "select ';'; commit": 'commit',
  "select 'it''s'; commit": 'commit',
  "select e'\\''; commit": 'commit',
  'select $1, $2; commit': 'commit',
  'select $$;$$; commit': 'commit',
  'select $a$ $b$ ; $a$; commit': 'commit',
  'select a$$b; commit; $$': 'commit',
  'select "a;b"; commit': 'commit',
}

for (const [text, command] of Object.entries(commands)) {
  it(`sees ${command} in ${JSON.stringify(text)}`, () => {
    assert.equal(transactionControl(text), command)
  })
}

const others = [
  '',
  'select 1',
  'select case when true then 1 end',
  'update commits set released = true',
  'commits',
  "insert into a values ('; commit')",
  "select e'\\'; commit'",
  'select "; commit"',
  'select $$; commit$$',
  'select $tag$ $$; commit $tag$',
  '-- commit',
  'select 1 -- ; commit',
  '/* ; commit */ select 1',
  '/* ; commit',
  'prepare a as select 1',
  'set constraints all deferred',
]

for (const text of others) {
  it(`sees nothing in ${JSON.stringify(text)}`, () => {
    assert.equal(transactionControl(text), undefined)
  })
}
