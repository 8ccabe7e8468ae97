select "a" as "sel""ect", 'it''s', /* /* nested */ */ -- end
 1 from "t" where (((a)))=((1)) and not not (b is null) ; ;