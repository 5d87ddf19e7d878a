import { backoffOptions } from '../../src/backoff.ts'
import { embeddedBrokerOptions } from '../../src/embedded/embedded-broker.ts'
import { kafkaOptions } from '../../src/kafka/options.ts'
import { mysqlOptions } from '../../src/mysql/mysql-table.ts'
import type { Option } from '../../src/options.ts'
import {
  batchOptions,
  breakerOptions,
  cacheOptions,
  delegateOptions,
} from '../../src/patterns/delegate/option-tables.ts'
import { gateOptions } from '../../src/patterns/gate/options.ts'
import { sidecarOptions } from '../../src/patterns/sidecar/options.ts'
import { postgresOptions } from '../../src/postgres/options.ts'
import { postgresTableOptions } from '../../src/postgres/table/postgres-table.ts'
import { rateOptions } from '../../src/rate.ts'
import { redisCacheOptions } from '../../src/redis/redis-cache.ts'
import { retryOptions } from '../../src/retry.ts'
import { runtimeOptions } from '../../src/runtime-options.ts'
import { scheduleOptions } from '../../src/schedule.ts'
import { serviceOptions } from '../../src/service-options.ts'

type Table = Readonly<Record<string, Option<unknown>>>

interface Section {
  readonly title: string
  readonly intro: string
  readonly table: Table
}

const sections: readonly Section[] = [
  {
    title: 'Service',
    intro:
      'In `defineService(name, { … })`, beside `inputs`, `outputs`, `state`, `idempotency`, `uses`, `schedule` and `handle` or `handleMany`. ' +
      '[Services](services.md) describes those.',
    table: serviceOptions,
  },
  {
    title: 'Retry',
    intro:
      'In `retry: { … }` of `defineService` and of patterns, beside `overrides`. [When a message fails](failures.md) describes it.',
    table: { ...retryOptions, ...inside('backoff', backoffOptions) },
  },
  {
    title: 'Schedule',
    intro:
      'In `schedule: { … }` of `defineService`, beside `run`. [Services](services.md#work-that-is-due-by-time) describes that.',
    table: scheduleOptions,
  },
  {
    title: 'Delegate',
    intro:
      'In `delegate(name, { … })`, beside those of a service and `input`, `outputs`, `call`, `callMany`, `handle` and ' +
      '`classify`. [Delegate](patterns/delegate.md) describes those.',
    table: {
      ...delegateOptions,
      ...inside('backoff', backoffOptions),
      ...inside('breaker', breakerOptions),
      ...inside('batch', batchOptions),
      ...inside('rateLimit', rateOptions),
      ...inside('cache', cacheOptions),
    },
  },
  {
    title: 'Gate',
    intro:
      'In `gate(name, { … })`, beside `facts`, `table` and the others that [Gate](patterns/gate.md) describes.',
    table: gateOptions,
  },
  {
    title: 'Runtime',
    intro: 'In `run(services, { … })`, as flags of `pollux run`, and in `pollux.config.ts`.',
    table: runtimeOptions,
  },
  {
    title: 'Kafka',
    intro:
      'In `kafka({ … })` of `pollux/kafka`, beside `brokers`, `tls`, `sasl`, `client`, `consumer`, `producer` and `admin`. ' +
      '[Kafka](kafka.md) describes those.',
    table: kafkaOptions,
  },
  {
    title: 'PostgreSQL',
    intro:
      'In `postgres({ … })` of `pollux/postgres`, beside `connectionString` and `pool`. [PostgreSQL](postgres.md) describes ' +
      'those.',
    table: postgresOptions,
  },
  {
    title: 'Sidecar',
    intro:
      'In `sidecar(name, { … })`, beside `input`, `target`, `key`, `columns`, `version`, `groups`, and `concurrency`, `batch` and ' +
      '`start` of a service. [Sidecar](patterns/sidecar.md) describes those.',
    table: sidecarOptions,
  },
  {
    title: 'Sidecar: PostgreSQL',
    intro:
      'In `postgresTable({ … })` of `pollux/postgres`, beside `table`, `versions`, `connectionString` and `pool`. ' +
      '[Sidecar](patterns/sidecar.md#postgresql) describes those.',
    table: postgresTableOptions,
  },
  {
    title: 'Sidecar: MySQL and MariaDB',
    intro:
      'In `mysqlTable({ … })` of `pollux/mysql`, beside `connectionString`, `table` and `versions`. ' +
      '[Sidecar](patterns/sidecar.md#mysql-and-mariadb) describes those.',
    table: mysqlOptions,
  },
  {
    title: 'Sidecar: Redis',
    intro:
      'In `redisCache({ … })` of `pollux/redis`, beside `url` and `prefix`. [Sidecar](patterns/sidecar.md#redis) describes those.',
    table: redisCacheOptions,
  },
  {
    title: 'Embedded broker',
    intro:
      'In `embeddedBroker({ … })` of `pollux/embedded`, beside `folder`, `memory` and `clock`.',
    table: embeddedBrokerOptions,
  },
]

/** The options of an object among the options. */
function inside(name: string, table: Table): Table {
  return Object.fromEntries(
    Object.entries(table).map(([option, declared]) => [`${name}.${option}`, declared]),
  )
}

/** The text of `docs/options.md`, from the tables that also check the options. */
export function optionsPage(): string {
  return `${head}\n${sections.map(sectionText).join('\n')}`
}

const head = `# Options

<!-- Written by \`npm run docs\` from the declarations in the code. Change those, not this page. -->

Every option has a default that is safe. A wrong or unknown one is refused at start, all of them in one error. Durations
are milliseconds, or texts such as \`'200ms'\`, \`'30s'\`, \`'5m'\`, \`'2h'\` and \`'7d'\`.
`

function sectionText({ title, intro, table }: Section): string {
  return `## ${title}\n\n${intro}\n\n${Object.entries(table).map(optionText).join('\n')}`
}

function optionText([name, option]: [string, Option<unknown>]): string {
  return [
    `### ${name}\n`,
    `${option.help}\n`,
    `- Default: \`${option.shownDefault}\``,
    `- Takes: ${option.expected}\n`,
  ].join('\n')
}
