import { functionSettings } from './functions.ts'

/**
 * Deletes outputs up to the units given, of the partitions whose rows have the epoch given. A row of the
 * ledger says where to begin, and is locked first by whoever deletes.
 */
export function acknowledgeFunction(schema: string): string {
  return `create function ${schema}.pollux_acknowledge_1(
    in_service text, in_topics text[], in_partitions int4[], in_epochs int8[], in_units int8[]
  ) returns void language plpgsql ${functionSettings} as $function$
  begin
    select array_agg(given.topic), array_agg(given.partition), array_agg(given.unit)
    into in_topics, in_partitions, in_units
    from (
      select * from unnest(in_topics, in_partitions, in_epochs, in_units)
        as given (topic, partition, epoch, unit)
      order by given.topic collate "C", given.partition
    ) as given
    cross join lateral (
      select 1 from ${schema}.pollux_ledger as ledger
      where ledger.service = in_service and ledger.topic = given.topic
        and ledger.partition = given.partition and ledger.epoch = given.epoch
      for update
    ) as locked;

    ${deleteAcknowledged(schema, 'in_units')};

    -- Of rows that are there; so each one is updated.
    insert into ${schema}.pollux_ledger as ledger
      (service, topic, partition, topic_id, epoch, acknowledged)
    select in_service, given.topic, given.partition, '', 0, least(given.unit, known.unit)
    from unnest(in_topics, in_partitions, in_units) as given (topic, partition, unit)
    cross join lateral (
      select ledger.unit from ${schema}.pollux_ledger as ledger
      where ledger.service = in_service and ledger.topic = given.topic
        and ledger.partition = given.partition
      limit 1
    ) as known
    on conflict (service, topic, partition) do update
      set acknowledged = greatest(ledger.acknowledged, excluded.acknowledged);
  end
  $function$`
}

/**
 * The statement that deletes outputs of \`in_topics\` and \`in_partitions\`, whose rows of the ledger are
 * locked. It reads the index from the first that is left: what was deleted before is still in there.
 */
export function deleteAcknowledged(schema: string, units: string): string {
  return `delete from ${schema}.pollux_outbox where ctid = any (array(
        select found.id
        from unnest(in_topics, in_partitions, ${units}) as given (topic, partition, unit)
        cross join lateral (
          select ledger.acknowledged from ${schema}.pollux_ledger as ledger
          where ledger.service = in_service and ledger.topic = given.topic
            and ledger.partition = given.partition
          limit 1
        ) as known
        cross join lateral (
          select outbox.ctid as id from ${schema}.pollux_outbox as outbox
          where outbox.service = in_service and outbox.topic = given.topic
            and outbox.partition = given.partition
            and outbox.unit > known.acknowledged and outbox.unit <= given.unit
          offset 0
        ) as found
      ))`
}
