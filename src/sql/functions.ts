/**
 * A plan that is made once must do for tables of any size: one made while a table fitted one page must
 * not read all of it for ever, nor depend on how many rows one call has.
 */
export const functionSettings = 'set enable_seqscan = off set plan_cache_mode = force_generic_plan'

/**
 * Raises the epochs of partitions and makes the rows that are missing. The clock is in it, as a fail-over
 * that loses commits sets the row back, and must not give an epoch twice. Waits for whoever holds a row no
 * longer than the limit (SQLSTATE 55P03), which is set for this transaction alone.
 */
export function acquireFunction(schema: string): string {
  return `create function ${schema}.pollux_acquire_1(
    in_service text, in_topics text[], in_partitions int4[], in_topic_ids text[],
    in_lock_timeout text
  ) returns table (out_topic text, out_partition int4, out_epoch int8)
  language plpgsql ${functionSettings} as $function$
  begin
    perform set_config('lock_timeout', in_lock_timeout, true);
    return query
      insert into ${schema}.pollux_ledger as ledger (service, topic, partition, topic_id, epoch)
      select distinct on (given.topic collate "C", given.partition)
        in_service, given.topic, given.partition, given.topic_id,
        floor(extract(epoch from clock_timestamp()) * 1000)::int8
      from unnest(in_topics, in_partitions, in_topic_ids) as given (topic, partition, topic_id)
      order by given.topic collate "C", given.partition
      on conflict (service, topic, partition) do update
        set epoch = greatest(ledger.epoch + 1, excluded.epoch)
      returning ledger.topic, ledger.partition, ledger.epoch;
  end
  $function$`
}

/**
 * What is known of keys and marks, as arrays in their order. Lateral probes with a limit read the
 * index key by key, whatever the statistics say.
 */
export function loadFunction(schema: string): string {
  return `create function ${schema}.pollux_load_1(
    in_service text, in_keys bytea[], in_topics text[], in_ids bytea[],
    out out_values bytea, out out_guards bytea, out out_versions bytea, out out_applied bytea
  ) language plpgsql stable ${functionSettings} as $function$
  begin
    select array_send(array_agg(found.value)), array_send(array_agg(found.guard)),
      array_send(array_agg(found.version))
    into out_values, out_guards, out_versions
    from (
      select stored.value, stored.guard, stored.version
      from unnest(in_keys) with ordinality as given (key, place)
      left join lateral (
        select state.value, state.guard, state.version from ${schema}.pollux_state as state
        where state.service = in_service and state.key = given.key
        limit 1
      ) as stored on true
      order by given.place
    ) as found;

    select array_send(array_agg(found.applied)) into out_applied
    from (
      select mark.partition is not null as applied
      from unnest(in_topics, in_ids) with ordinality as given (topic, id, place)
      left join lateral (
        select inbox.partition from ${schema}.pollux_inbox as inbox
        where inbox.id = given.id and inbox.service = in_service and inbox.topic = given.topic
        limit 1
      ) as mark on true
      order by given.place
    ) as found;
  end
  $function$`
}

/**
 * Forgets marks in a range of the table's blocks: in the order in which they lie there, as an index by
 * time would have to be written with each mark. Gives the block to go on with; null when there is no
 * more, or another process is at it.
 */
export function forgetFunction(schema: string): string {
  return `create function ${schema}.pollux_forget_1(
    in_service text, in_window interval, in_block int8, in_blocks int8
  ) returns int8 language plpgsql ${functionSettings} as $function$
  declare
    block_end constant int8 := in_block + in_blocks;
    size constant int8 := pg_relation_size('${schema}.pollux_inbox')
      / current_setting('block_size')::int8;
  begin
    if not pg_try_advisory_xact_lock(hashtextextended('${schema}.pollux_forget ' || in_service, 0))
    then
      return null;
    end if;
    delete from ${schema}.pollux_inbox as mark
    where mark.ctid >= format('(%s,0)', in_block)::tid
      and mark.ctid < format('(%s,0)', block_end)::tid
      and mark.service = in_service
      and mark.applied_at < now() - in_window
      and mark."offset" < (
        select ledger.next from ${schema}.pollux_ledger as ledger
        where ledger.service = mark.service and ledger.topic = mark.topic
          and ledger.partition = mark.partition
      );
    return case when block_end < size then block_end end;
  end
  $function$`
}
