export {
  type MysqlPlainOptions,
  type MysqlTableOptions,
  mysqlOptions,
  mysqlTable,
} from './mysql-table.ts'
