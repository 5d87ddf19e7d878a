/** The tables as the first migration makes them. */
export function tables(schema: string): string[] {
  return [
    // A row per partition that a service works on. Outputs of units up to `acknowledged` are
    // published and gone: with this, looking for the others does not step over what was deleted.
    // Room on each page keeps an update on its page, where it needs no index entry and is cleaned
    // without a vacuum.
    `create table ${schema}.pollux_ledger (
      service text collate "C" not null,
      topic text collate "C" not null,
      partition int4 not null,
      topic_id text collate "C" not null,
      epoch int8 not null,
      unit int8 not null default 0,
      next int8,
      settled int8multirange not null default '{}',
      acknowledged int8 not null default 0,
      primary key (service, topic, partition)
    ) with (fillfactor = 50)`,
    // Versions come from one sequence, so that a key that is removed and comes back never has an
    // old version again.
    `create sequence ${schema}.pollux_state_version`,
    `create table ${schema}.pollux_state (
      service text collate "C" not null,
      key bytea not null,
      value bytea,
      guard text collate "C",
      version int8 not null,
      primary key (service, key)
    ) with (fillfactor = 80)`,
    // The id comes first in the key: a new table, whose statistics are unknown, would otherwise be
    // read by service and topic, which is all of it. Columns of one size come first in the table, where
    // they need no padding.
    `create table ${schema}.pollux_inbox (
      applied_at timestamptz not null default now(),
      "offset" int8 not null,
      partition int4 not null,
      id bytea not null,
      service text collate "C" not null,
      topic text collate "C" not null,
      primary key (id, service, topic)
    )`,
    // A row holds all outputs of one unit's messages of one partition, `records` of them.
    `create table ${schema}.pollux_outbox (
      service text collate "C" not null,
      topic text collate "C" not null,
      partition int4 not null,
      unit int8 not null,
      records int4 not null,
      outputs bytea not null,
      stored_at timestamptz not null default now(),
      primary key (service, topic, partition, unit)
    )`,
    // They are read once or never: compressing them costs more than it saves.
    `alter table ${schema}.pollux_outbox alter column outputs set storage external`,
  ]
}
