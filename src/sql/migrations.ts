/**
 * One step of the tables' history. Never changed once released: the next change is a new step at
 * the end.
 */
export interface Migration {
  readonly number: number
  readonly name: string
  /** `schema` is a quoted identifier. */
  statements(schema: string): readonly string[]
}

/** The SQLSTATEs that `pollux_commit` raises, which rolls everything back. */
export const raised = { fenced: 'PX001', conflict: 'PX002' } as const

/**
 * All steps, in order. They live in TypeScript, not in .sql files, so that the compiler alone makes
 * the package.
 */
export const migrations: readonly Migration[] = [
  {
    number: 1,
    name: 'ledger and state',
    statements: (schema) => [...tables(schema), commitFunction(schema)],
  },
]

function tables(schema: string): string[] {
  return [
    // Room on each page keeps an update on its page, where it needs no index entry and is cleaned
    // without a vacuum.
    `create table ${schema}.pollux_ledger (
      service text collate "C" not null,
      topic text collate "C" not null,
      partition int4 not null,
      topic_id text collate "C" not null,
      epoch int8 not null,
      next int8,
      settled int8multirange not null default '{}',
      primary key (service, topic, partition)
    ) with (fillfactor = 50)`,
    // Versions come from one sequence, so that a key that is removed and comes back never has an
    // old version again.
    `create sequence ${schema}.pollux_state_version`,
    `create table ${schema}.pollux_state (
      service text collate "C" not null,
      key bytea not null,
      value bytea not null,
      version int8 not null,
      primary key (service, key)
    ) with (fillfactor = 80)`,
  ]
}

/**
 * A unit in one call. Rows are locked and written in one order, ledger before state, state by key,
 * so that two units never wait for each other in a circle.
 *
 * Plans must not depend on statistics, as new tables have none: reads probe the index row by row
 * (lateral), writes go by `on conflict` or by row id, and a plan made while the table fitted one
 * page must not scan it for ever.
 */
function commitFunction(schema: string): string {
  return `create function ${schema}.pollux_commit(
    in_service text,
    in_topics text[], in_partitions int4[], in_epochs int8[], in_nexts int8[], in_settled int8multirange[],
    in_keys bytea[], in_values bytea[], in_versions int8[]
  ) returns int8[] language plpgsql set enable_seqscan = off as $function$
  declare
    matching int8;
    -- How many of the states are new, changed, removed, and absent both before and after.
    inserts int8;
    updates int8;
    deletes int8;
    absences int8;
    new_versions int8[];
  begin
    select count(*) into matching
    from (
      select * from unnest(in_topics, in_partitions, in_epochs) as given (topic, partition, epoch)
      order by given.topic collate "C", given.partition
    ) as given
    cross join lateral (
      select 1 from ${schema}.pollux_ledger as stored
      where stored.service = in_service and stored.topic = given.topic
        and stored.partition = given.partition and stored.epoch = given.epoch
      for update
    ) as locked;
    if matching <> cardinality(in_topics) then
      raise exception 'fenced' using errcode = '${raised.fenced}';
    end if;

    -- These rows are there and locked, so each one is updated; their topic's id stays.
    insert into ${schema}.pollux_ledger (service, topic, partition, topic_id, epoch, next, settled)
    select in_service, given.topic, given.partition, '', given.epoch, given.next, given.settled
    from unnest(in_topics, in_partitions, in_epochs, in_nexts, in_settled)
      as given (topic, partition, epoch, next, settled)
    on conflict (service, topic, partition)
      do update set next = excluded.next, settled = excluded.settled;

    if cardinality(in_keys) = 0 then
      return '{}';
    end if;

    select
      count(*) filter (where version = 0 and value is not null),
      count(*) filter (where version > 0 and value is not null),
      count(*) filter (where version > 0 and value is null),
      count(*) filter (where version = 0 and value is null),
      array_agg(
        case when value is null then 0 else nextval('${schema}.pollux_state_version') end
        order by place
      )
    into inserts, updates, deletes, absences, new_versions
    from unnest(in_values, in_versions) with ordinality as given (value, version, place);

    if updates + deletes > 0 then
      select count(*) into matching
      from (
        select * from unnest(in_keys, in_versions) as given (key, version)
        where given.version > 0
        order by given.key
      ) as given
      cross join lateral (
        select 1 from ${schema}.pollux_state as stored
        where stored.service = in_service and stored.key = given.key
          and stored.version = given.version
        for update
      ) as locked;
      if matching <> updates + deletes then
        raise exception 'conflict' using errcode = '${raised.conflict}';
      end if;
    end if;

    if absences > 0 then
      select count(*) into matching
      from unnest(in_keys, in_values, in_versions) as given (key, value, version)
      cross join lateral (
        select 1 from ${schema}.pollux_state as stored
        where stored.service = in_service and stored.key = given.key
        limit 1
      ) as present
      where given.version = 0 and given.value is null;
      if matching > 0 then
        raise exception 'conflict' using errcode = '${raised.conflict}';
      end if;
    end if;

    if inserts > 0 then
      insert into ${schema}.pollux_state (service, key, value, version)
      select in_service, given.key, given.value, given.new_version
      from unnest(in_keys, in_values, in_versions, new_versions)
        as given (key, value, version, new_version)
      where given.version = 0 and given.value is not null
      order by given.key
      on conflict do nothing;
      get diagnostics matching = row_count;
      if matching <> inserts then
        raise exception 'conflict' using errcode = '${raised.conflict}';
      end if;
    end if;

    if updates > 0 then
      -- These rows are there and locked, so each one is updated.
      insert into ${schema}.pollux_state (service, key, value, version)
      select in_service, given.key, given.value, given.new_version
      from unnest(in_keys, in_values, in_versions, new_versions)
        as given (key, value, version, new_version)
      where given.version > 0 and given.value is not null
      on conflict (service, key)
        do update set value = excluded.value, version = excluded.version;
    end if;

    if deletes > 0 then
      delete from ${schema}.pollux_state where ctid = any (array(
        select found.id
        from unnest(in_keys, in_values, in_versions) as given (key, value, version)
        cross join lateral (
          select stored.ctid as id from ${schema}.pollux_state as stored
          where stored.service = in_service and stored.key = given.key
          limit 1
        ) as found
        where given.version > 0 and given.value is null
      ));
    end if;

    return new_versions;
  end
  $function$`
}
