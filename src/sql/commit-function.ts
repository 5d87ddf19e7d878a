/** The SQLSTATEs that `pollux_commit_1` raises, which rolls everything back. */
export const raised = { fenced: 'PX001', conflict: 'PX002' } as const

/**
 * A unit in one call. Rows are locked and written in one order (ledger, inbox by key, state by key,
 * outbox), so that two units never wait for each other in a circle.
 *
 * Plans must not depend on statistics, as new tables have none: reads probe the index row by row
 * (lateral), writes go by `on conflict` or by row id, and a plan made while the table fitted one
 * page must not scan it for ever.
 */
export function commitFunction(schema: string): string {
  return `create function ${schema}.pollux_commit_1(
    in_service text,
    in_topics text[], in_partitions int4[], in_epochs int8[], in_units int8[],
    in_nexts int8[], in_settled int8multirange[], in_acknowledged int8[],
    in_records int4[], in_outputs bytea[],
    in_mark_topics text[], in_mark_ids bytea[], in_mark_partitions int4[], in_mark_offsets int8[],
    in_keys bytea[], in_values bytea[], in_guards text[], in_versions int8[]
  ) returns int8 language plpgsql set enable_seqscan = off as $function$
  declare
    matching int8;
    -- One for all states of the unit: versions are compared key by key.
    new_version int8 := 0;
  begin
${ledgerPart(schema)}
${inboxPart(schema)}
${statePart(schema)}
${outboxPart(schema)}
    return new_version;
  end
  $function$`
}

function ledgerPart(schema: string): string {
  return `
    select count(*) into matching
    from (
      select * from unnest(in_topics, in_partitions, in_epochs, in_units)
        as given (topic, partition, epoch, unit)
      order by given.topic collate "C", given.partition
    ) as given
    cross join lateral (
      select 1 from ${schema}.pollux_ledger as stored
      where stored.service = in_service and stored.topic = given.topic
        and stored.partition = given.partition
        and stored.epoch = given.epoch and stored.unit = given.unit
      for update
    ) as locked;
    if matching <> cardinality(in_topics) then
      raise exception 'fenced' using errcode = '${raised.fenced}';
    end if;

    if array_remove(in_acknowledged, null) <> '{}' then
      perform ${schema}.pollux_acknowledge_1(in_service, in_topics, in_partitions, in_acknowledged);
    end if;

    -- These rows are there and locked, so each one is updated; their topic's id stays.
    insert into ${schema}.pollux_ledger
      (service, topic, partition, topic_id, epoch, unit, next, settled)
    select in_service, given.topic, given.partition, '', 0, given.unit + 1, given.next, given.settled
    from unnest(in_topics, in_partitions, in_units, in_nexts, in_settled)
      as given (topic, partition, unit, next, settled)
    on conflict (service, topic, partition)
      do update set unit = excluded.unit, next = excluded.next, settled = excluded.settled;`
}

function inboxPart(schema: string): string {
  return `
    if cardinality(in_mark_ids) > 0 then
      insert into ${schema}.pollux_inbox (id, service, topic, partition, "offset")
      select given.id, in_service, given.topic, given.partition, given.position
      from unnest(in_mark_topics, in_mark_ids, in_mark_partitions, in_mark_offsets)
        as given (topic, id, partition, position)
      order by given.id, given.topic collate "C"
      on conflict do nothing;
      get diagnostics matching = row_count;
      if matching <> cardinality(in_mark_ids) then
        raise exception 'conflict' using errcode = '${raised.conflict}';
      end if;
    end if;`
}

/**
 * One pass in the order of the keys. A row is written with the version that the unit expects to find, or
 * with the new one where it expects none; a row that is there has to have that version, and gets the
 * new one. So what does not end with the new version was not as expected: another version, no row, or a
 * row where none should be.
 */
function statePart(schema: string): string {
  return `
    if cardinality(in_keys) > 0 then
      new_version := nextval('${schema}.pollux_state_version');
      with written as (
        insert into ${schema}.pollux_state as stored (service, key, value, guard, version)
        select in_service, given.key, given.value, given.guard,
          case given.version when 0 then new_version else given.version end
        from unnest(in_keys, in_values, in_guards, in_versions)
          as given (key, value, guard, version)
        order by given.key
        on conflict (service, key) do update
          set value = excluded.value, guard = excluded.guard, version = new_version
          where stored.version = excluded.version
        returning stored.version
      )
      select count(*) into matching from written where written.version = new_version;
      if matching <> cardinality(in_keys) then
        raise exception 'conflict' using errcode = '${raised.conflict}';
      end if;

      delete from ${schema}.pollux_state where ctid = any (array(
        select found.id
        from unnest(in_keys, in_values, in_guards) as given (key, value, guard)
        cross join lateral (
          select stored.ctid as id from ${schema}.pollux_state as stored
          where stored.service = in_service and stored.key = given.key
          limit 1
        ) as found
        where given.value is null and given.guard is null
      ));
    end if;`
}

function outboxPart(schema: string): string {
  return `
    insert into ${schema}.pollux_outbox (service, topic, partition, unit, records, outputs)
    select in_service, given.topic, given.partition, given.unit + 1, given.records, given.outputs
    from unnest(in_topics, in_partitions, in_units, in_records, in_outputs)
      as given (topic, partition, unit, records, outputs)
    where given.outputs is not null;`
}
