import { deleteAcknowledged } from './acknowledge-function.ts'
import { functionSettings } from './functions.ts'

/** The SQLSTATEs that `pollux_commit_1` raises, which rolls everything back. */
export const raised = { fenced: 'PX001', conflict: 'PX002' } as const

/**
 * A unit in one call. Rows are locked and written in one order (ledger, inbox by key, state by key,
 * outbox), so that two units never wait for each other in a circle. Of arrays that are null there is
 * nothing to do. Gives the new version of all states: versions are compared key by key.
 *
 * Plans must not depend on statistics, as new tables have none: reads probe the index row by row
 * (lateral), and writes go by `on conflict` or by row id.
 */
export function commitFunction(schema: string): string {
  return `create function ${schema}.pollux_commit_1(
    in_service text,
    in_topics text[], in_partitions int4[], in_epochs int8[], in_units int8[],
    in_nexts int8[], in_settled int8multirange[], in_acknowledged int8[],
    in_records int4[], in_outputs bytea[],
    in_mark_topics text[], in_mark_ids bytea[], in_mark_partitions int4[], in_mark_offsets int8[],
    in_keys bytea[], in_values bytea[], in_guards text[], in_versions int8[], in_removed bytea[]
  ) returns int8 language plpgsql ${functionSettings} as $function$
  declare
    matching int8;
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
      select 1 from ${schema}.pollux_ledger as ledger
      where ledger.service = in_service and ledger.topic = given.topic
        and ledger.partition = given.partition
        and ledger.epoch = given.epoch and ledger.unit = given.unit
      for update
    ) as locked;
    if matching <> cardinality(in_topics) then
      raise exception 'fenced' using errcode = '${raised.fenced}';
    end if;

    if in_acknowledged is not null then
      ${deleteAcknowledged(schema, 'in_acknowledged')};
    end if;

    -- These rows are there and locked, so each one is updated; their topic's id stays.
    insert into ${schema}.pollux_ledger as ledger
      (service, topic, partition, topic_id, epoch, unit, next, settled, acknowledged)
    select in_service, given.topic, given.partition, '', 0, given.unit + 1, given.next,
      given.settled, least(coalesce(given.acknowledged, 0), given.unit)
    from unnest(in_topics, in_partitions, in_units, in_nexts, in_settled, in_acknowledged)
      as given (topic, partition, unit, next, settled, acknowledged)
    on conflict (service, topic, partition) do update
      set unit = excluded.unit, next = excluded.next, settled = excluded.settled,
        acknowledged = greatest(ledger.acknowledged, excluded.acknowledged);`
}

/**
 * A mark that is there already violates the key. `on conflict do nothing` and counting would tell the
 * same, at a third more time for each mark.
 */
function inboxPart(schema: string): string {
  return `
    if in_mark_ids is not null then
      insert into ${schema}.pollux_inbox (id, service, topic, partition, "offset")
      select given.id, in_service, given.topic, given.partition, given.position
      from unnest(in_mark_topics, in_mark_ids, in_mark_partitions, in_mark_offsets)
        as given (topic, id, partition, position)
      order by given.id, given.topic collate "C";
    end if;`
}

/**
 * One pass in the order of the keys. A row is written with the version that the unit expects to find,
 * or with the new one where it expects none; a row that is there has to have that version, and gets
 * the new one. So what does not end with the new version was not as expected: another version, no row,
 * or a row where none should be.
 */
function statePart(schema: string): string {
  return `
    if in_keys is not null then
      new_version := nextval('${schema}.pollux_state_version');
      with written as (
        insert into ${schema}.pollux_state as state (service, key, value, guard, version)
        select in_service, given.key, given.value, given.guard,
          case given.version when 0 then new_version else given.version end
        from unnest(in_keys, in_values, in_guards, in_versions)
          as given (key, value, guard, version)
        order by given.key
        on conflict (service, key) do update
          set value = excluded.value, guard = excluded.guard, version = new_version
          where state.version = excluded.version
        returning state.version
      )
      select count(*) into matching from written where written.version = new_version;
      if matching <> cardinality(in_keys) then
        raise exception 'conflict' using errcode = '${raised.conflict}';
      end if;
    end if;

    -- These were written just now, like the others.
    if in_removed is not null then
      delete from ${schema}.pollux_state where ctid = any (array(
        select found.id
        from unnest(in_removed) as given (key)
        cross join lateral (
          select state.ctid as id from ${schema}.pollux_state as state
          where state.service = in_service and state.key = given.key
          limit 1
        ) as found
      ));
    end if;`
}

function outboxPart(schema: string): string {
  return `
    if in_outputs is not null then
      insert into ${schema}.pollux_outbox (service, topic, partition, unit, records, outputs)
      select in_service, given.topic, given.partition, given.unit + 1, given.records, given.outputs
      from unnest(in_topics, in_partitions, in_units, in_records, in_outputs)
        as given (topic, partition, unit, records, outputs)
      where given.outputs is not null;
    end if;`
}
