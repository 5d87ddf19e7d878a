-- The shop's own table, made by the shop's own program years ago. Pollux changes not a line of it.
create schema if not exists legacy;

create table if not exists legacy.item_master (
  item_no    char(13) primary key,
  descr      varchar(40) not null default '',
  unit_price numeric(9, 2),
  curr       char(3) not null default 'EUR',
  last_upd   timestamp,
  shelf      varchar(6)
);

insert into legacy.item_master (item_no, descr, shelf) values
  ('9781000000016', 'Emma', 'A-03'),
  ('9781000000023', 'Dracula', 'A-07'),
  ('9781000000030', 'Middlemarch', 'B-01'),
  ('9781000000047', 'Walden', 'B-04'),
  ('9781000000054', 'Ivanhoe', 'B-09'),
  ('9781000000061', 'Kim', 'C-02'),
  ('9781000000078', 'Villette', 'C-05'),
  ('9781000000085', 'Utopia', 'C-06'),
  ('9781000000092', 'Candide', 'D-01'),
  ('9781000000108', 'Persuasion', 'D-03'),
  ('9781000000115', 'Frankenstein', 'D-08'),
  ('9781000000122', 'An Almanac of Prices', 'E-01')
on conflict do nothing;
